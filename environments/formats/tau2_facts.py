"""Strings that tau2 looks for in what an agent says, as typed facts.

A substring of one or two characters is in any answer by accident ("4" is in "45 minutes"): it becomes a fact only where
somebody who read the task says of which type it is.
"""

import re
from typing import Final

from environments.task import Fact
from environments.verifiers.claims import claims

SHORTEST: Final = 3
"""Fewest characters of a string that can be typed by its shape alone."""
_MONEY = re.compile(r"\d+\.\d{1,2}")
_COUNT = re.compile(r"\d{3,6}")


def typed(text: str) -> Fact | None:
    """The fact that a string stands for, or None where its shape does not say.

    Amounts with cents are dollars, numbers with a unit are that, other numbers are numbers; the rest, long numbers of
    parcels among them, are names: whole words, as they stand.
    """
    if len(text) < SHORTEST:
        return None
    if _MONEY.fullmatch(text):
        return Fact(kind="number", value=text, unit="dollars")
    if _COUNT.fullmatch(text):
        return Fact(kind="number", value=text)
    found = [claim for claim in claims(text) if claim.kind == "number"]
    if len(found) == 1 and found[0].unit and re.fullmatch(r"[\d.]+ [a-z]+", text):
        return Fact(kind="number", value=found[0].value, unit=found[0].unit)
    return Fact(kind="name", value=text)
