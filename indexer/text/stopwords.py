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
    able above above-mentioned acceptable accurate actual additional aforementioned aforesaid almost
    another appropriate attractive available based best better broad broader called certain challenging
    complicated considerable considered conventional corresponding crucial current defined designed
    desired detailed developed different difficult distinct due earlier effective efficient enough
    entire essential etc excellent existing expensive extensive extra faster feasible few fewer
    following former further given good great greater immediate important improved increased inherent
    interesting known larger last late later latest latter least less little main major many meaningful
    more most much necessary new next novel numerous obtained obvious only other others overall own
    particular past possible powerful precise preliminary present presented previous promising proposed
    realistic reasonable recent recently related relevant remarkable reported required respective
    resultant resulting same satisfactory serious several significant similar simple simplified smaller
    so-called some sophisticated specific specified subsequent successful successive such such-and-such
    suitable typical underlying used useful usual valuable various very well-known whole wide wider
    widespread
    """
)

# Words that never belong to a phrase, however they are tagged.
NEVER_INSIDE = words(
    """
    about according across additionally after against al al. along also although among an and another
    any are as at because been before being besides between beyond both but by cf cf. consequently could
    despite during e.g. each eg either eq eqs et etc etc. etcetera every except fig fig. figs finally
    firstly for from furthermore had has have he hence her him his how however i.e. ie if in including
    instead into is its lastly many meanwhile might moreover must nevertheless nonetheless nor not of on
    onto or other others our ref refs respectively same sec secondly sect several should since so such
    than that the their them then there thereby therefore these they this those though through
    throughout thus to toward towards under unless until upon using various versus via viz vs vs. was we
    were what when where whereas whether which while who whose why with within without would you your
    """
)

# Nouns too general to be a phrase on their own, in the singular.
NEVER_ALONE = words(
    """
    ability absence abstract account addition advance advantage agreement aim amount answer anything
    appendix application approach apr april area article aspect assumption attempt attention aug august
    author basis beginning benefit billion bit capability case challenge chance chapter characteristic
    choice class cm combination comparison concept conclusion condition context contrast contribution
    copyright course date day db dec decade december definition degree detail difference direction
    disadvantage discussion dozen drawback effect effort end ev everyone everything evidence example
    existence extent fact factor fashion feb february field figure finding focus form former framework
    friday gb gev ghz goal group guy half hand help hour hr hrs hz idea impact importance improvement
    increase influence insight instance interest introduction investigation issue jan january jul july
    jun june kb kev kg khz kind km kw lack latter letter level limitation literature lot ltd majority
    man manner mar march matter mb means method methodology mev mg mhz million mind minute ml mm monday
    month mw nature need nm none nothing notion nov november number objective oct october one order
    other outcome overview paper part people percent percentage person perspective piece place point
    possibility presence problem procedure process progress property proposal purpose quality question
    range reader reason regard relation relationship report requirement researcher respect rest result
    review role saturday sec section sense sep sept september set side situation size solution someone
    something sort spite start state-of-the-art step study stuff subject sunday table task tb technique
    term thanks thing thousand thursday time title today tomorrow topic total tuesday turn type
    understanding usage use validity value variety version view vol volume way wednesday week while
    woman work world year yesterday yr yrs
    """
)

# Verbs that small taggers take for plural nouns after a noun ("the model relies on").
VERBS = words(
    """
    achieves adapts addresses admits adopts allows analyzes appears applies argues arises assumes avoids
    becomes begins believes combines compares computes concludes considers consists contains converges
    corresponds demonstrates depends describes determines develops differs discusses does employs
    enables ensures evaluates examines exhibits exists explains explores extends facilitates gets gives
    goes handles has helps identifies illustrates implies imposes improves includes incorporates
    indicates introduces investigates involves keeps lets lies maintains makes motivates obtains occurs
    outperforms performs presents produces proposes proves provides reduces relates relies remains
    represents requires reveals satisfies seems serves shows suggests takes tells tends uses utilizes
    varies wants
    """
)
# The same, but only before a preposition, because they are nouns too ("the paper deals with").
VERBS_BEFORE_PREPOSITION = words("aims deals focuses leads")

# Gerunds that name a subject: nouns even where the tagger sees a verb ("routing protocols", "by clustering").
GERUND_NOUNS = words(
    """
    averaging banking binding breeding broadcasting cleaning clustering coding computing dating
    debugging encoding engineering farming filtering forecasting funding gambling gaming hashing housing
    imaging indexing learning licensing lighting machining manufacturing marketing mining modeling
    modelling monitoring networking operating parsing planning pricing printing processing programming
    prototyping pruning publishing ranking reasoning rendering routing sampling scanning scattering
    scheduling sensing sequencing shopping signaling signalling smoothing sorting stemming streaming
    switching tagging teaching testing tracking trading training tunneling voting welding
    """
)

# Phrases of two words that say no more than the words above.
GENERIC_PHRASES = frozenset(
    f"{first} {second}"
    for first, seconds in {
        "first": "part step time",
        "great": "deal",
        "important": "role",
        "key": "role",
        "large": "amount amounts number numbers scale",
        "last": "decade",
        "long": "time",
        "real": "world",
        "second": "part step time",
        "small": "amount amounts number numbers",
        "special": "case cases",
        "state-of-the-art": "method methods performance result results",
        "vast": "majority",
    }.items()
    for second in seconds.split()
)
