"""Copies of the default tree on disk, edited as a person would edit them."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from assets.taxonomy.tree import default_folder

FILE = "dynamic_information.yaml"
WEATHER = "dynamic_information.realtime_weather"
INTO = (f"{WEATHER}.forecast", f"{WEATHER}.hearsay")


def copied(folder: Path) -> Path:
    """The default tree in a folder of one's own."""
    return Path(shutil.copytree(default_folder(), folder, ignore=shutil.ignore_patterns("migrations")))


def with_weather_split(folder: Path) -> Path:
    """The tree in which weather is a node: what it will be like, and whether what one heard is right."""
    file = folder / FILE
    branch: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for number, leaf in enumerate(branch["children"]):
        if leaf["id"] == "realtime_weather":
            branch["children"][number] = _node(leaf)
    file.write_text(yaml.safe_dump(branch, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return folder


def with_weather_renamed(folder: Path, ident: str = "weather_now") -> Path:
    """The tree in which the leaf has another id and the same meaning."""
    file = folder / FILE
    file.write_text(file.read_text(encoding="utf-8").replace("id: realtime_weather", f"id: {ident}"), encoding="utf-8")
    return folder


def _node(leaf: dict[str, Any]) -> dict[str, Any]:
    heard = [text for text in leaf["examples"] if "heard" in text or "says" in text or "听说" in text]
    rest = [text for text in leaf["examples"] if text not in heard]
    more = [
        "They say it will snow in Graz on Monday, true or not",
        "有人说拉萨明天下雪，是真的吗",
        "somebody told me it is hot in Oslo",
    ]
    hearsay = _leaf("hearsay", "Hearsay", "Asks whether what one heard about the weather is right.", [*heard, *more])
    forecast = _leaf("forecast", "Forecast", "Asks for the weather of one place.", rest)
    return {k: leaf[k] for k in ("id", "name", "definition")} | {"children": [forecast, hearsay]}


def _leaf(ident: str, name: str, definition: str, examples: list[str]) -> dict[str, Any]:
    beside = {"counter_examples": ["Which is warmer tomorrow"], "synonyms": [f"{name} of the weather"]}
    return {"id": ident, "name": {"en": name, "zh": name}, "definition": definition, "examples": examples, **beside}


def with_branches(folder: Path, many: int) -> Path:
    """A tree of so many level-1 branches of one leaf each."""
    folder.mkdir(parents=True)
    for number in range(many):
        said = [f"wish {number} in other words, number {i}" for i in range(8)]
        leaf = _leaf("only", f"Wish {number}", f"Asks for wish {number}.", said) | {"synonyms": [f"wish no. {number}"]}
        branch = {
            "id": f"b{number}",
            "name": {"en": f"B {number}", "zh": f"B {number}"},
            "definition": f"Wish {number}.",
        }
        text = yaml.safe_dump(branch | {"languages": ["en"], "children": [leaf]}, sort_keys=False)
        (folder / f"b{number}.yaml").write_text(text, encoding="utf-8")
    return folder
