"""Short reports on three subjects, and a collection of them."""

from __future__ import annotations

import json

from hash_encoder import HashEncoder

from indexer.collection import Collection
from indexer.text import Preparer

SUBJECTS = {
    "space": "The solar wind comes from the solar corona, and the magnetic field of the earth protects us.",
    "law": "Tax law sets the income tax rate, and a tax court decides about every disputed tax bill.",
    "sea": "Deep sea fish live near hydrothermal vents, where the ocean floor feeds marine bacteria.",
}
OTHERS = (
    "A sourdough starter needs rye flour, and the oven spring depends on the dough hydration of every loaf.",
    "Violin strings vibrate, while the sound post and the bass bar of a concert violin carry each tone.",
    "Chess openings favour central pawns, so a queen gambit or a king attack decides many chess games.",
)


def made(number=30):
    names = list(SUBJECTS)
    return [
        {
            "id": f"d{i:02}",
            "title": f"Report {i} about {names[i % 3]}",
            "text": f"{SUBJECTS[names[i % 3]]} Station {i} reports new measurements.",
            "kind": names[i % 3],
            "year": 2000 + i,
        }
        for i in range(number)
    ]


def write(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def opened(home, encoder=None):
    """A collection with the real tagger in this process, and an encoder without a model."""
    return Collection.open(home=home, encoder=encoder or HashEncoder(), tagger=Preparer())


def state(collection):
    """Everything that an undisturbed and a disturbed run must have in common."""
    documents = {
        s.document.id: (
            s.document.content_hash,
            [(k.text, k.score, k.places) for k in s.keyphrases],
            s.topics,
        )
        for s in collection.documents()
    }
    phrases = sorted(
        (p.phrase, p.documents, p.surfaces, p.topics)
        for p in collection.engine.phrases(list(collection.engine.phrase_ids()))
    )
    topics = sorted((t.id, t.label, t.size, t.phrases) for t in collection.topics())
    return documents, phrases, topics
