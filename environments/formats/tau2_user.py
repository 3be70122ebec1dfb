"""The user of a tau2 task: the scenario that is told to whoever plays it, turned into what the user says.

Tau2 writes to the player ("You want your order cancelled"); here the same is in the user's mouth.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from environments.task import UserGoal

CUSTOMER: Final = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
"""A user id of tau2's."""
_TELLING: Final = (
    (
        "name",
        re.compile(r"(?:\b[Yy]ou are|\b[Yy]ou're|\b[Nn]ame is) ([A-Z][a-z]+(?: [A-Z][a-z]+)?)\b"),
        "My name is {}.",
    ),
    ("email", re.compile(r"([\w.]+@[\w.]+\w)"), "My email is {}."),
    ("user id", re.compile(f"({CUSTOMER.pattern})"), "My user id is {}."),
    ("zip code", re.compile(r"\b(\d{5})\b"), "My zip code is {}."),
    ("number", re.compile(r"(#?\bW\d{7}\b|\b(?=[A-Z0-9]*\d)[A-Z0-9]{6}\b)"), "The number is {}."),
)
"""What a user may be asked for, how the scenario tells it, and how the user says it."""
_SECTIONS: Final = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
_TURNED: Final = (
    (r"\byou are\b", "I am"),
    (r"\byou're\b", "I'm"),
    (r"\byou were\b", "I was"),
    (r"\byou've\b", "I've"),
    (r"\byou'd\b", "I'd"),
    (r"\byou'll\b", "I'll"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byour\b", "my"),
    (r"\b(to|for|with|from|of|tells?|told|asks?|gives?|lets?|helps?|allows?|offers?|charges?) you\b", r"\1 me"),
    (r"\byou\b", "I"),
)


def in_first_person(text: str) -> str:
    """A scenario ("You want your order cancelled") as its user says it ("I want my order cancelled")."""
    for pattern, said in _TURNED:
        text = re.sub(pattern, said, text, flags=re.I)
    starts = re.sub(r"(^|[.!?]\s+|\n)(my|mine|myself)\b", lambda m: m[1] + m[2].capitalize(), text)
    return starts.strip()


def instruction_of(scenario: Mapping[str, str], *, conversation: bool) -> str:
    """What the user says first; where nobody will speak for it later, all that there is to say."""
    names = ("reason_for_call",) if conversation else _SECTIONS
    return "\n".join(in_first_person(scenario[n]) for n in names if len(scenario.get(n, "")) > 1)


def user_of(scenario: Mapping[str, str], *, persona: str | None, max_replies: int) -> UserGoal:
    """The user's goal, its facts by what they would be asked for as.

    Args:
        scenario: what tau2 tells whoever plays the user, by section.
        persona: a description in tau2's words, where there is one; a model that plays the user is told it.
        max_replies: after which the user goes.
    """
    told = {name: text for name, text in scenario.items() if name != "domain"}
    told |= {"persona": persona} if persona else {}
    text = "\n".join(scenario.get(name, "") for name in ("known_info", "reason_for_call"))
    values = {name: list(dict.fromkeys(shape.findall(text))) for name, shape, _ in _TELLING}
    facts = {name: said.format(" and ".join(values[name])) for name, _, said in _TELLING if values[name]}
    return UserGoal(
        facts=facts,
        max_replies=max_replies,
        script=json.dumps(told, ensure_ascii=False),
    )
