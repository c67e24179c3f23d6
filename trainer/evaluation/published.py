"""Published figures by task and data set, in the units of this program's tables.

A table shows them only where the set is named (``--published wnut2017``): the name of a file does not say whether its
data, its split and its protocol are those of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indexer.errors import InputError

Published = Mapping[str, Mapping[str, float]]  # name of a method ► metric ► figure


def _rows(metrics: str, methods: Mapping[str, Sequence[float]]) -> Published:
    """Figures of each method, in the order of `metrics`; those of the last metrics may be missing."""
    return {name: dict(zip(metrics.split(), figures, strict=False)) for name, figures in methods.items()}


CLUSTERS, F1, SIMCKP = "acc nmi", "f1@5 f1@10 f1@15", "present_f1@5 present_f1@m absent_f1@5 absent_f1@m"

PUBLISHED: Mapping[str, Mapping[str, Published]] = {
    # 0 to 1. UCTopic is LUKE-base, pre-trained on 109 million pairs of Wikipedia; CCL trains it on each set.
    "entities": {
        "conll2003": _rows(
            CLUSTERS,
            {"UCTopic": (0.743, 0.495), "UCTopic without CCL": (0.704, 0.464), "Phrase-BERT": (0.643, 0.297)},
        ),
        "bc5cdr": _rows(
            CLUSTERS,
            {"UCTopic": (0.981, 0.865), "UCTopic without CCL": (0.977, 0.846), "Phrase-BERT": (0.918, 0.617)},
        ),
        "movie": _rows(
            CLUSTERS,
            {"UCTopic": (0.942, 0.661), "UCTopic without CCL": (0.845, 0.439), "Phrase-BERT": (0.916, 0.575)},
        ),
        "wnut2017": _rows(
            CLUSTERS,
            {"UCTopic": (0.521, 0.314), "UCTopic without CCL": (0.509, 0.287), "Phrase-BERT": (0.452, 0.241)},
        ),
    },
    # Per cent. SEKE 2022 is the method that indexing follows (BERT-base, trained on each set); PromptRank (T5-base) is
    # the highest published one without labels.
    "keyphrases": {
        "inspec": _rows(F1, {"SEKE 2022": (20.61, 28.33, 30.04), "PromptRank": (31.73, 37.88)}),
        "semeval2017": _rows(F1, {"SEKE 2022": (21.30, 30.52, 34.48), "PromptRank": (27.14, 37.76)}),
        "semeval2010": _rows(F1, {"SEKE 2022": (10.85, 15.05, 16.01), "PromptRank": (17.24, 20.66)}),
        "krapivin": _rows(F1, {"PromptRank": (16.11, 16.71)}),
        "nus": _rows(F1, {"PromptRank": (17.24, 20.13)}),
        "duc2001": _rows(F1, {"PromptRank": (27.39, 31.59)}),
    },
    # 0 to 1; all trained on 510,000 documents of KP20k.
    "simckp": {
        "inspec": _rows(
            SIMCKP,
            {
                "catSeq": (0.225, 0.262, 0.004, 0.008),
                "SetTrans": (0.285, 0.324, 0.021, 0.034),
                "SimCKP": (0.356, 0.358, 0.033, 0.035),
            },
        ),
        "krapivin": _rows(
            SIMCKP,
            {
                "catSeq": (0.269, 0.354, 0.018, 0.036),
                "SetTrans": (0.326, 0.364, 0.047, 0.073),
                "SimCKP": (0.405, 0.405, 0.078, 0.089),
            },
        ),
        "kp20k": _rows(
            SIMCKP,
            {
                "catSeq": (0.291, 0.367, 0.015, 0.032),
                "SetTrans": (0.358, 0.392, 0.036, 0.058),
                "SimCKP": (0.426, 0.427, 0.073, 0.080),
            },
        ),
    },
    # 0 to 1. How the 19,416 pairs of Phrase-BERT's PPDB-filtered were split is not known.
    "phrases": {
        "turney": _rows("acc", {"Phrase-BERT": (0.572,), "PEARL-base": (0.597,)}),
        "bird": _rows("pearson", {"Phrase-BERT": (0.688,), "PEARL-base": (0.726,)}),
        "ppdb_filtered": _rows("acc", {"Phrase-BERT, on 19,416 pairs": (0.680,), "PEARL-base": (0.722,)}),
        "ppdb": _rows("acc", {"Phrase-BERT": (0.976,)}),
        "paws": _rows("acc", {"Phrase-BERT": (0.589,)}),
    },
    # 0 to 1. HS-GC: distilbert-nli (66 million parameters), trained on each set.
    "texts": {
        "agnews": _rows(CLUSTERS, {"HS-GC": (0.877, 0.669)}),
        "searchsnippets": _rows(CLUSTERS, {"HS-GC": (0.850, 0.682)}),
        "stackoverflow": _rows(CLUSTERS, {"HS-GC": (0.746, 0.671)}),
        "googlenews": _rows(CLUSTERS, {"HS-GC": (0.881, 0.943)}),
        "trec": _rows(CLUSTERS, {"HS-GC": (0.433, 0.157)}),
    },
}


def published_for(task: str, name: str, *, limit: int | None = None) -> Published:
    """The figures that were published for a set; none where `name` is empty.

    Raises:
        InputError: There are none for this task, or only a sample of the set is measured.
    """
    if not name:
        return {}
    if name not in PUBLISHED[task]:
        raise InputError(f"Nothing is published for '{name}' here: choose {', '.join(PUBLISHED[task])}.")
    if limit is not None:
        raise InputError(
            f"Published figures of '{name}' are of the whole set: leave out --limit or --published."
        )
    return PUBLISHED[task][name]
