"""CrossWOZ user turns with the dialogue before them, labelled with the default travel tree."""

import json
import zipfile
from pathlib import Path

from tests.bench.induction_parts.clinc import hashed


def turns(corpora: Path, most: int) -> list[tuple[str, str | None]]:
    """User turns and, for each that is not the first, the dialogue before it; the turns are chosen by hash."""
    with zipfile.ZipFile(corpora / "queries/crosswoz/val.json.zip") as archive:
        dialogues = json.loads(archive.read(archive.namelist()[0]))
    found: dict[str, str | None] = {}
    for name, dialogue in dialogues.items():
        said: list[str] = []
        for number, message in enumerate(dialogue["messages"]):
            if message["role"] == "usr":
                found[f"{name}|{number}|{message['content']}"] = " ".join(said[-4:]) or None
            said.append(message["content"])
    return [(key.split("|", 2)[2], found[key]) for key in hashed(list(found))[:most]]


def labelled(corpora: Path, most: int) -> list[tuple[str, str, float, str]]:
    """Leaf, second leaf, confidence and text of some turns."""
    from assets.labels.annotator import Annotator
    from assets.labels.table import intents_of
    from assets.taxonomy.tree import load_taxonomy
    from resources.embedder import Embedder

    embedder = Embedder()
    annotator = Annotator(intents_of(load_taxonomy().table()), embedder.embed, embedder=embedder.version)
    rows = turns(corpora, most)
    labels = annotator.annotate([text for text, _ in rows], [context for _, context in rows])
    return [
        (one.primary, one.secondary or "", one.confidence, text) for one, (text, _) in zip(labels, rows, strict=True)
    ]
