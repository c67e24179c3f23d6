"""The trained pipeline as a folder, with its origin, licence and scores."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.tagger.model import PIPELINE_NAME, PIPELINE_VERSION, TaggerConfig

LICENCE = "CC BY-SA 4.0"
TREEBANK = "Universal Dependencies English EWT, release 2.16"
TREEBANK_URL = "https://github.com/UniversalDependencies/UD_English-EWT"
README = """\
# The shipped English tagger

A small spaCy pipeline: one shared tok2vec, a tagger (Penn Treebank tags) and a senter (sentence ends). It is used
when `en_core_web_sm` is not installed.

Made by `python -m tools.tagger` from the Universal Dependencies English Web Treebank (UD English EWT, release 2.16,
https://github.com/UniversalDependencies/UD_English-EWT). The files in this folder are licensed CC BY-SA 4.0
(https://creativecommons.org/licenses/by-sa/4.0/), as the treebank is. The word vectors were counted in the texts that
`meta.json` names under `sources`, and in the treebank.

`meta.json` holds the sizes, the schedule and the accuracy measured on the treebank's dev and test parts, from raw
text: `tag_acc` of all tags, `nominal_acc` when only noun, adjective and rest are told apart, `sents_f` of sentences.

Silveira, Dozat, de Marneffe, Bowman, Connor, Bauer and Manning (2014): A Gold Standard Dependency Corpus for English.
In Proceedings of LREC.
"""


def save(
    nlp: Any,
    folder: Path,
    config: TaggerConfig,
    performance: Mapping[str, Mapping[str, float]],
    sources: Sequence[str] = (),
) -> None:
    """Write the pipeline with its origin, licence and scores.

    The vocabulary keeps the tags only: hashes and vectors are found by number, words are not needed.

    Args:
        sources: Names and licences of the raw text.
        performance: Part of the treebank ► score name ► score.
    """
    shutil.rmtree(folder, ignore_errors=True)
    nlp.to_disk(folder)
    strings = json.dumps(sorted(nlp.get_pipe("tagger").labels), indent=1)
    (folder / "vocab" / "strings.json").write_text(strings, encoding="utf-8")
    meta = {
        "lang": "en",
        "name": PIPELINE_NAME,
        "version": PIPELINE_VERSION,
        "description": "Small English tagger (Penn Treebank tags) and sentence splitter.",
        "spacy_version": ">=3.8,<4.0",
        "license": LICENCE,
        "sources": [
            {"name": TREEBANK, "url": TREEBANK_URL, "license": LICENCE},
            *({"name": name} for name in sources),
        ],
        "pipeline": nlp.pipe_names,
        "performance": {
            part: {name: round(score, 4) for name, score in scores.items()}
            for part, scores in performance.items()
        },
        "training": vars(config),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")
