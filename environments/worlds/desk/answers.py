"""What the reference solution says at the end, in the language of the customer."""

from functools import cache
from importlib.resources import files
from typing import Any, Literal

Language = Literal["en", "zh"]


@cache
def answers() -> dict[str, dict[Language, str]]:
    """Sentences by name and language."""
    import yaml

    text = files("environments.worlds.desk").joinpath("data/answers.yaml").read_text(encoding="utf-8")
    read: dict[str, dict[Language, str]] = yaml.safe_load(text)
    return read


def sentence(which: str, language: Language, **slots: Any) -> str:
    """The sentence named `which`, filled."""
    return answers()[which][language].format(**slots)
