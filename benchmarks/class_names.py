"""Classes of labelled collections in plain words: what a reader would call them, for comparing names of topics with."""

from __future__ import annotations

from collections.abc import Iterable

PLAIN = {
    # 20 Newsgroups
    "alt.atheism": "atheism",
    "comp.graphics": "computer graphics",
    "comp.os.ms-windows.misc": "Microsoft Windows",
    "comp.sys.ibm.pc.hardware": "PC hardware",
    "comp.sys.mac.hardware": "Macintosh hardware",
    "comp.windows.x": "X Window System",
    "misc.forsale": "for sale",
    "rec.autos": "cars",
    "rec.motorcycles": "motorcycles",
    "rec.sport.baseball": "baseball",
    "rec.sport.hockey": "hockey",
    "sci.crypt": "cryptography",
    "sci.electronics": "electronics",
    "sci.med": "medicine",
    "sci.space": "space",
    "soc.religion.christian": "Christianity",
    "talk.politics.guns": "guns",
    "talk.politics.mideast": "Middle East",
    "talk.politics.misc": "politics",
    "talk.religion.misc": "religion",
    # arXiv, as its list of categories names them
    "cond-mat.quant-gas": "quantum gases",
    "cs.CL": "computation and language",
    "cs.CR": "cryptography and security",
    "cs.CY": "computers and society",
    "cs.DB": "databases",
    "cs.GT": "game theory",
    "cs.HC": "human-computer interaction",
    "cs.IR": "information retrieval",
    "cs.NE": "neural and evolutionary computing",
    "cs.NI": "networking",
    "cs.PL": "programming languages",
    "cs.RO": "robotics",
    "cs.SD": "sound",
    "cs.SE": "software engineering",
    "cs.SI": "social networks",
    "econ.EM": "econometrics",
    "eess.IV": "image and video processing",
    "eess.SP": "signal processing",
    "math.GT": "geometric topology",
    "math.HO": "history of mathematics",
    "math.LO": "logic",
    "physics.ao-ph": "atmospheric and oceanic physics",
    "physics.bio-ph": "biological physics",
    "physics.ed-ph": "physics education",
    "physics.flu-dyn": "fluid dynamics",
    "physics.geo-ph": "geophysics",
    "physics.med-ph": "medical physics",
    "physics.plasm-ph": "plasma physics",
    "physics.soc-ph": "physics and society",
    "physics.space-ph": "space physics",
    "q-bio.GN": "genomics",
    "q-bio.NC": "neurons and cognition",
    "q-bio.PE": "populations and evolution",
    "q-fin.ST": "statistical finance",
    "stat.AP": "applications of statistics",
    "stat.ME": "statistical methodology",
    # StackOverflow
    "osx": "Mac OS X",
    "svn": "Subversion",
    "linq": "LINQ",
}


def plain(labels: Iterable[str]) -> list[str]:
    """The name of each label in plain words; the label itself where it is one."""
    return [PLAIN.get(label, label.replace("-", " ")) for label in labels]


def family(label: str) -> str:
    """What a label with parts belongs to: ``rec`` of ``rec.autos``."""
    return label.split(".")[0]
