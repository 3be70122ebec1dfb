"""The teacher's prompts: the text files of `prompts/`, filled; what is filled in is all that an answer depends on."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import NamedTuple, TypeAlias

from assets.labels.constraints import WORLD_DAY
from assets.labels.options import Option
from assets.labels.teacher_answers import groups

Message: TypeAlias = dict[str, str]


class Asked(NamedTuple):
    """A request, or the words of it that are labelled."""

    text: str
    context: str | None
    """The turn before it."""
    whole: str | None = None
    """The request that `text` was taken out of."""
    apart: str | None = None
    """Words of `text` that are labelled by themselves."""

    def told(self) -> str:
        """The request as it stands in a prompt; in JSON's quotes, so that nothing in it reads as ours."""
        parts = {
            "The turn before": self.context,
            "The whole request": self.whole,
            "The request": self.text,
            "Not to be judged here, it is labelled by itself": self.apart,
        }
        said = (f"{name}: {json.dumps(text, ensure_ascii=False)}" for name, text in parts.items() if text is not None)
        return "\n".join(said)


def reading_prompt(asked: Asked) -> list[Message]:
    """Asks what a request says; the taxonomy does not enter."""
    return [_message("system", _reading_rules()), _message("user", asked.told())]


def choice_prompt(options: Sequence[Option], asked: Asked) -> list[Message]:
    """Asks which of some options fits."""
    return [_message("system", choice_rules(options)), _message("user", asked.told())]


def repair_prompt(prompt: Sequence[Message], raw: str, problem: str) -> list[Message]:
    """Shows an answer that cannot be used, and why, and asks for another."""
    asked = _template("repair").substitute(problem=problem)
    return [*prompt, _message("assistant", raw), _message("user", asked)]


def choice_rules(options: Sequence[Option]) -> str:
    """What stands above every request that is to be sorted among `options`."""
    return _template("choose").substitute(options="\n".join(option.told() for option in options))


def all_rules(nodes: Sequence[Sequence[Option]]) -> list[str]:
    """Everything that is asked, apart from the requests: what an annotator's version covers."""
    return [_reading_rules(), _template("repair").template, *map(choice_rules, nodes)]


@cache
def _reading_rules() -> str:
    told = [f"  {name}: {group.reason}{_like(group.examples)}" for name, group in groups().items()]
    return _template("read").substitute(today=f"{WORLD_DAY:%A}, {WORLD_DAY}", groups="\n".join(told))


def _like(examples: Sequence[str], most: int = 3) -> str:
    return f" ({' | '.join(examples[:most])})" if examples else ""


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip())


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
