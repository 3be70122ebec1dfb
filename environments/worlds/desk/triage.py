"""What a mail is about and where it belongs, as the policy's table says."""

import random

from environments.task import Split
from environments.worlds.desk.answers import Language
from environments.worlds.desk.wordings import sections

TABLE = {
    "safety": ("safety", "urgent"), "complaint": ("supervisor", "high"), "billing": ("billing", "normal"),
    "delivery": ("logistics", "normal"), "contract": ("contracts", "normal"), "account": ("front", "low"),
    "refund": ("front", "normal"),
}  # fmt: skip
"""Queue and priority by category; of several that fit, the first counts."""


def triage_wish(family: str, split: Split, language: Language, rng: random.Random) -> dict[str, str]:
    """The text of a mail or report, and where it belongs; half of them fit a lower category too."""
    known = list(TABLE) if family == "ticket_triage" else ["safety", "complaint", "delivery"]
    first = rng.choice(known)
    lower = [c for c in list(TABLE)[list(TABLE).index(first) + 1 :] if family == "ticket_triage"]
    fitting = [first, *([rng.choice(lower)] if lower and rng.random() < 0.5 else [])]
    said = [rng.choice(sections(language)["texts"][category][split]) for category in fitting]
    rng.shuffle(said)
    queue, priority = TABLE[first]
    return {
        "text": ("" if language == "zh" else " ").join(said),
        "category": first,
        "queue": queue,
        "priority": priority,
    }
