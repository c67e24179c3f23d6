"""Short word lists: what ends a phrase, what says nothing at its edge, and what gives a language away."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Read a word list as it is written in these modules: words between white space."""
    return frozenset(text.split())


ENGLISH = words(
    """
    a about above across after again against all almost alone along already also although always am
    among an and another any anyone anything are as at away be became because been before being below
    best better between both but by came can cannot could did do does doing done down during each either
    else enough etc even ever every few for from further get gets give go goes got had has have having
    he hence her here hers herself him himself his how however i if in indeed instead into is it its
    itself just least less let like made make many may me might more moreover most much must my myself
    near neither never no nobody non none nor not nothing now of off often on once one only onto or
    other others our ours ourselves out over own per perhaps put quite rather really same see seem seems
    several shall she should since so some something sometimes somewhat such than that the their theirs
    them themselves then thence there thereby therefore these they this those though through throughout
    thus to together too toward towards two under until up upon us use used uses using various very via
    was we well were what whatever when whence where whereas whereby wherein whether which while who
    whoever whole whom whose why will with within without would yet you your yours yourself yourselves
    """
)

# Function words of other languages: they end a phrase, and they tell a German text from an English one.
FOREIGN = {
    "de": words(
        """
        der die das und ist nicht ein eine einer eines einem einen mit für auf dem den des im zu von
        sich auch als wird werden sind bei nach aus wie oder über durch zum zur kann wir ich sie es
        dass nur noch haben hat
        """
    ),
    "fr": words(
        """
        le la les un une des du et est dans que qui pour par sur avec pas plus ne ce cette ces au
        aux sont nous vous il elle ils être été ou mais comme leur son sa ses se entre ont peut
        """
    ),
    "es": words(
        """
        el la los las un una unos unas y es en que de del por para con no se su sus al lo como más
        pero son este esta estos estas entre también ha han o muy sin sobre puede
        """
    ),
    "it": words(
        """
        il lo la i gli le un una e è in che di del della dei delle per con non si su al alla come
        più ma sono questo questa tra anche ha hanno o nel nella può
        """
    ),
    "pt": words(
        """
        o a os as um uma e é em que de do da dos das por para com não se seu sua ao como mais mas
        são este esta entre também ou no na nos nas pode foi
        """
    ),
    "nl": words(
        """
        de het een en is niet van in op met voor dat die te zijn aan er ook als bij om door naar uit
        wordt worden kan deze dit maar over tot heeft hebben wij ik
        """
    ),
}
ANY_FOREIGN = frozenset[str]().union(*FOREIGN.values())

# Adjectives (and words tagged so) that say nothing at the beginning of a phrase.
GENERIC_LEADERS = words(
    """
    able above above-mentioned according additional aforementioned aforesaid almost another appropriate
    available based being best better certain concerning considerable corresponding current different
    due earlier enough entire etc existing few fewer first following former further given good great
    greater having high-quality important including interesting key known large larger last late later
    latest latter least less little main major many more most much necessary new next novel numerous
    obtained other others overall own particular possible present presented previous proposed recent
    recently regarding related relevant respective resulting same second several significant similar
    simple single small some specific subsequent such such-and-such sufficient suitable third using
    usual various very well-known whole wide
    """
)

# Words that never belong to a phrase, however they are tagged.
NEVER_INSIDE = words(
    """
    al al. cf cf. e.g. eg eq eqs et etc etc. etcetera fig fig. figs i.e. ie many other others ref refs
    respectively same sec sect several such various viz vs vs.
    """
)

# Nouns too general to be a phrase on their own.
NEVER_ALONE = words(
    """
    ability abstract account addition advance advantage aim amount answer approach approaches april area
    article aspect aspects attempt august author authors basis beginning benefit case cases class
    comparison concept conclusion conclusions contrast contribution course day days december degree
    detail details difference differences effect end example examples extent fact factor february field
    form former framework friday goal group hand idea ideas importance increase instance interest
    introduction investigation issue issues january july june kind kinds lack latter level literature
    lot majority manner march matter means method methods monday none november number numbers objective
    october one ones order others outcome overview paper papers part parts people person perspective
    piece place point points possibility presence problem problems procedure process progress proposal
    purpose purposes quality question questions range reason reasons regard relation report result
    results review role saturday section sections sense september set sets side situation solution sort
    studies study subject sunday task tasks technique techniques term terms thing things thursday time
    times title today tomorrow topic total tuesday type types usage use variety version view way ways
    wednesday while work works world year years yesterday
    """
)
