"""What customers of desk say, in a chat or in a mail: templates by section and split, filled for a case."""

import random
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from environments.task import Split
from environments.worlds.desk.answers import Language
from environments.worlds.desk.plans import Case
from environments.worlds.desk.population import company

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_AGAIN = {family: "refund" for family in ("refund_small", "refund_large", "expired_right", "lost_response")}
_AGAIN["lost_parcel_refund"] = "lost_parcel"
"""Families that nobody can tell apart by what the customer says."""

_TOLD: dict[tuple[Language, bool], dict[str, tuple[str, ...]]] = {
    ("en", True): {
        "what": ("order {number}", "my order {number}"),
        "item": ("the {product} from order {number}", "the {product} in my order {number}"),
    },
    ("en", False): {
        "what": ("the order with the {product}", "my order of the {product}"),
        "item": ("the {product}", "my {product}"),
    },
    ("zh", True): {"what": ("订单 {number} ", "我的订单 {number} "), "item": ("订单 {number} 里的{product}",)},
    ("zh", False): {"what": ("买{product}的那个订单", "我那单{product}"), "item": ("那个{product}", "我买的{product}")},
}
"""How an order, and what was bought with it, is told: by its number, or not."""


@cache
def sections(language: Language = "en") -> dict[str, Any]:
    """Templates by section and split; causes and texts have one level more."""
    import yaml

    stem = "wordings" if language == "en" else f"wordings_{language}"
    text = files("environments.worlds.desk").joinpath(f"data/{stem}.yaml").read_text(encoding="utf-8")
    read: dict[str, Any] = yaml.safe_load(text)
    return read


def say(template: str, slots: Mapping[str, str], rng: random.Random) -> str:
    """One phrasing: alternatives drawn, slots filled; a slot with a capital begins a sentence."""
    text = _CHOICE.sub(lambda m: rng.choice(m[1].split("|")), template)
    capitals = {k.capitalize(): v[:1].upper() + v[1:] for k, v in slots.items()}
    return "\n".join(" ".join(line.split()) for line in text.format(**slots, **capitals).split("\n"))


def section_of(family: str, case: Case) -> str:
    """The section that holds the family's templates."""
    if family == "ticket_triage":
        return "triage_by_customer" if case.reference else "triage"
    return _AGAIN.get(family, family)


def slots_of(case: Case, split: Split, rng: random.Random) -> dict[str, str]:
    """What the templates may name."""
    row, wish = case.customer.row, case.wish
    slots = {**{k: row[k] for k in ("name", "email", "postcode")}, **wish}
    if case.line is not None and case.order is not None:
        number = wish.get("order") or case.order.row["id"]
        told = _TOLD[case.language, case.reference == 0]
        product = case.line["product"] if case.language == "en" else company()["products_zh"][case.line["product"]]
        slots |= {slot: rng.choice(ways).format(product=product, number=number) for slot, ways in told.items()}
    if "cause" in wish:
        slots["why"] = rng.choice(sections(case.language)["causes"][wish["cause"]][split])
    return slots


def request(family: str, case: Case, split: Split, rng: random.Random) -> str:
    """What the customer says, with who they are before or after it."""
    template = rng.choice(sections(case.language)[section_of(family, case)][split])
    slots = slots_of(case, split, rng)
    if family == "ticket_triage":
        return say(template, slots, rng)
    who = rng.choice(sections(case.language)["who_without_mail" if "anonymous" in case.wish else "who"][split])
    parts = [say(template, slots, rng), say(who, slots, rng)]
    if rng.random() < 0.4 and not who.startswith(("[Regards", "[Thanks", "Yours", "Signed", "[谢谢", "{name}敬上")):
        parts.reverse()
    return " ".join(parts)


def instruction(family: str, case: Case, said: str, split: Split, rng: random.Random) -> str:
    """What the agent is told: the customer's words, or which ticket holds them."""
    if case.ticket is None:
        return said
    return say(rng.choice(sections(case.language)["ticket"][split]), {"ticket": case.ticket}, rng)
