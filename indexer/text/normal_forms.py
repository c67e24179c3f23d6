"""How phrases are compared: by normal form (one form, one row) and by stems (when scoring)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from indexer.text.stopwords import words

# Words that end in s and are singular, or have no singular that anyone uses in a technical phrase.
UNCHANGED = words(
    """
    adams aids alias alternans always angeles apparatus aries asbestos ascites athens atlas barnes bayes
    bias biceps brussels canvas caries chagas chaos charles christmas cmos corps cosmos crossroads
    cyprus ddos descartes diabetes dickens edwards elegans ethos feces forbes forceps gallows gas hades
    hans hawkes headquarters hermes herpes hertz hobbes hras https hughes iaas james jens jones kansas
    keynes kras krebs kubernetes kudos langerhans laos lars las lens logos macos mars massachusetts mats
    means measles mems menses mercedes molasses mumps naples netherlands news nils nos nowadays odds
    ourselves paas pancreas paris pathos perhaps peters phys postgres pseudomonas quadriceps rabies rans
    reynolds rhodes rkhs rogers saas sachs sans sars scabies series species stokes texas thanks
    themselves thomas trans triceps ulysses wales watts whereas williams yes yourselves
    """
)

IRREGULAR = {
    "addenda": "addendum", "cpus": "cpu", "gpus": "gpu", "menus": "menu", "tpus": "tpu",
    "algae": "alga", "analyses": "analysis", "antennae": "antenna",
    "appendices": "appendix", "automata": "automaton", "axes": "axis", "bacilli": "bacillus",
    "bacteria": "bacterium", "biases": "bias", "calves": "calf", "canvases": "canvas",
    "children": "child", "codices": "codex", "corpora": "corpus", "cortices": "cortex",
    "crises": "crisis", "criteria": "criterion", "diagnoses": "diagnosis", "emphases": "emphasis",
    "equilibria": "equilibrium", "errata": "erratum", "extrema": "extremum", "feet": "foot", "foci": "focus",
    "formulae": "formula", "fungi": "fungus", "gases": "gas", "geese": "goose", "genera": "genus",
    "genii": "genius", "halves": "half", "helices": "helix", "hooves": "hoof",
    "hypotheses": "hypothesis", "indices": "index", "knives": "knife", "larvae": "larva",
    "leaves": "leaf", "lenses": "lens", "lives": "life", "loaves": "loaf", "loci": "locus",
    "matrices": "matrix", "maxima": "maximum", "men": "man", "metastases": "metastasis",
    "mice": "mouse", "minima": "minimum", "mitochondria": "mitochondrion", "momenta": "momentum",
    "nebulae": "nebula", "neuroses": "neurosis", "nuclei": "nucleus", "oases": "oasis",
    "optima": "optimum", "ova": "ovum", "phenomena": "phenomenon", "polyhedra": "polyhedron",
    "prognoses": "prognosis", "psychoses": "psychosis", "quanta": "quantum", "quizzes": "quiz",
    "radii": "radius", "schemata": "schema", "selves": "self", "shelves": "shelf",
    "simplices": "simplex", "spectra": "spectrum", "stases": "stasis", "stenoses": "stenosis",
    "stimuli": "stimulus", "strata": "stratum", "supernovae": "supernova", "symbioses": "symbiosis",
    "taxa": "taxon", "teeth": "tooth", "testes": "testis", "thieves": "thief",
    "thromboses": "thrombosis", "varices": "varix", "vertebrae": "vertebra", "vertices": "vertex",
    "vortices": "vortex", "wives": "wife", "wolves": "wolf", "women": "woman",
}  # fmt: skip

# -ics is a science (physics, statistics, dynamics) except in these.
PLURAL_ICS = words(
    """
    academics antibiotics clinics comics critics cubics epidemics fabrics generics harmonics heuristics
    logics lyrics medics metrics mosaics organics pandemics picnics quartics relics rubrics skeptics
    topics
    """
)

# Words in -us whose plural is -uses; all other -uses are plurals of -use (causes, houses, clauses).
SINGULAR_US = words(
    """
    abacus apparatus bonus bus calculus campus census chorus circus citrus consensus corpus fetus focus
    genius genus hiatus litmus locus lotus minus nexus octopus opus platypus plexus plus prospectus
    radius rumpus sinus status stimulus surplus syllabus thesaurus thrombus torus uterus virus walrus
    """
)

KEEPS_E_CH = frozenset(
    {"ache", "avalanche", "cache", "headache", "moustache", "niche", "pastiche", "psyche", "quiche"}
)
ENDS_IN_IE = words("brownie calorie cookie die genie hippie lie movie pie prairie rookie selfie tie zombie")
KEEPS_E_O = frozenset({"canoe", "foe", "hoe", "oboe", "shoe", "toe"})

DETERMINERS = words(
    """
    a an another any each either every her his its my neither no our some that the their these this
    those whose your
    """
)

_EDGES = " .,;:!?\"'`´‘’‚“”„()[]{}<>«»*_~|/\\&="
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’ʼ´`", "'"))
# Every dash of Unicode, minus sign included; soft hyphens and zero-width characters have no meaning.
_GAPS = re.compile(r"[\s\-_‐‑‒–—―−﹘﹣－]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\x00-\x08\x0e-\x1b\x7f]")
_TOKEN = re.compile(r"[^\W_]+")


@lru_cache(maxsize=1 << 16)
def normal_form(surface: str) -> str:
    """Return the form that all spellings of a phrase share.

    ``The Finite-State Machines`` gives ``finite state machine``.

    Lower case; hyphens, dashes and white space as one space; no leading determiners or possessives; the last
    word in the singular. Applying it again changes nothing.
    """
    form = surface
    while True:  # a few compatibility characters need a second round, for example 'ſt' and what it leaves
        again = _normalise_once(form)
        if again == form:
            return form
        form = again


def _normalise_once(surface: str) -> str:
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", surface)).lower().translate(_APOSTROPHES)
    text = _GAPS.sub(" ", text).strip(_EDGES)
    parts = text.split(" ")
    while len(parts) > 1 and parts[0] in DETERMINERS:
        del parts[0]
    parts[-1] = singular(parts[-1])
    return " ".join(parts)


def singular(word: str) -> str:
    """Return the singular of a lower-case noun, or the word itself where the ending may not be a plural."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if (
        len(word) < 4
        or not word.endswith("s")
        or not word.isascii()
        or not word.isalpha()
        or word in UNCHANGED
    ):
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ics"):
        return word[:-1] if word in PLURAL_ICS else word
    if word.endswith("es"):
        return _singular_es(word)
    return word[:-1]


def _singular_es(word: str) -> str:
    """Words in -es: take off -s or -es, turn -ies to -y."""
    stem, with_e = word[:-2], word[:-1]
    if word.endswith("ies"):
        return with_e if with_e in ENDS_IN_IE or len(word) == 4 else word[:-3] + "y"
    if word.endswith(("yses", "theses")):
        return stem + "is"
    if word.endswith("uses"):
        return stem if stem in SINGULAR_US else with_e
    if word.endswith(("sses", "xes", "shes", "zzes")) or stem in UNCHANGED:
        return stem
    if word.endswith("ches"):
        return with_e if with_e in KEEPS_E_CH else stem
    if word.endswith("oes"):
        return with_e if with_e in KEEPS_E_O else stem
    return with_e


@cache
def _porter() -> Callable[[str], str]:
    from snowballstemmer import (
        stemmer,
    )  # imported late; nltk's would load scipy.stats with it, which takes seconds

    stem: Callable[[str], str] = stemmer("porter").stemWord
    return stem


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    return _porter()(word)


def stemmed(text: str) -> str:
    """Return the Porter stems of the alphanumeric tokens, joined by spaces: how keyphrases are scored."""
    return " ".join(map(_stem, _TOKEN.findall(text.lower())))
