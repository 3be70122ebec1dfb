"""A teacher over the stand-in server; as a script, a process that labels until it is done or killed.

python -m tests.labels.teaching URL FOLDER COUNT
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from assets.labels.options import Tree, tree_of
from assets.labels.taught import Taught, taught_table
from assets.labels.teacher import Teacher
from assets.taxonomy.tree import load_taxonomy
from tests.environments.servers import client_of

FORMS = (
    "weather in {} tomorrow",
    "cheapest flight from {} to Vienna",
    "best museum of {}",
    "{} 明天会下雨吗",
    "how do i cook rice as in {}",
    "cheapest flight from {} to Oslo and the weather there",
    "what is the old town of {} like",
    "gibberish {}",
)
CITIES = ("Lagos", "Quito", "Lima", "Bern", "Basel", "Paris", "Rome", "Cairo", "Dakar", "Turin", "Porto", "Leeds")
UNREADABLE = len(CITIES)
"""Requests for which the stand-in never gives JSON."""


@cache
def taxonomy() -> pl.DataFrame:
    """The default tree as a table."""
    return load_taxonomy().table()


def queries(count: int = len(FORMS) * len(CITIES)) -> pl.DataFrame:
    """Requests of every form, some with the turn before them."""
    texts = [form.format(city) for city in CITIES for form in FORMS][:count]
    contexts = [None if i % 7 else "weather in Tunis on Friday" for i in range(len(texts))]
    ids = [f"q{i:03}" for i in range(len(texts))]
    return pl.DataFrame({"query_id": ids, "text": texts, "context": contexts}, schema_overrides={"context": pl.String})


def teacher_at(url: str, folder: Path, tree: Tree | None = None, **more: Any) -> Teacher:
    """A teacher of the default tree that keeps its answers in `folder`."""
    return Teacher(tree or tree_of(taxonomy()), client_of(url, folder, **more))


def taught(url: str, folder: Path, count: int | None = None, tree: Tree | None = None, **more: Any) -> Taught:
    """Labels of the queries."""
    asked = queries() if count is None else queries(count)
    return taught_table(teacher_at(url, folder, tree, **more), asked, lambda _: None)


if __name__ == "__main__":
    made = taught(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps({"labelled": len(made.labels), "quarantined": len(made.quarantine)}))  # noqa: T201
