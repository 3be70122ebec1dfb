"""The contract of reading an answer: a claim with its place in it, and the closed vocabularies."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

ClaimKind = Literal["number", "code", "name", "word", "date", "time", "ordinal"]
SKY_WORDS = ("sunny", "cloudy", "rainy", "snowy", "windy", "foggy")
MODE_WORDS = ("driving", "walking", "bicycling", "transit")
CHOICE_WORDS = ("flight", "train")
VERDICT_WORDS = ("yes", "no")
OTHER_SKIES = ("storm", "storms", "stormy", "hail", "sleet", "thunder", "thunderstorm", "thunderstorms", "blizzard")
"""Weather that no tool reports: whoever claims it made it up."""
WORDS = frozenset((*SKY_WORDS, *OTHER_SKIES, *MODE_WORDS, *CHOICE_WORDS, *VERDICT_WORDS))


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim with the place in the answer where it stands."""

    kind: ClaimKind
    value: str
    """A plain decimal; an upper-case code; a name or word; `HH:MM`; `YYYY-MM-DD`, `MM-DD`, `DD`, `+N` (days from
    today) or nothing (a weekday alone)."""
    unit: str | None
    start: int
    end: int
    note: str = ""
    """Of a number, what is counted; of a date, the weekday said (0 is Monday); of a time, `either` where am or pm is
    left open."""
    other: str = ""
    """The second reading of a date whose day and month may be taken for each other, 12/06/2026, and of a number with a
    blank in it, "1 299"."""

    @property
    def readings(self) -> tuple[str, ...]:
        """What it may mean: values as `value` has them, the likelier first."""
        if self.kind == "time" and self.note == "either":
            return self.value, f"{(int(self.value[:2]) + 12) % 24:02d}{self.value[2:]}"
        return (self.value, self.other) if self.other else (self.value,)


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Sequence[Claim] | None]]
"""A pattern and what it reads: claims; no claims (the text is used up all the same); or None, not a match after all."""
BLANK = "\x00"
"""Stands in the text for what an earlier rule has read."""
HAN = re.compile(r"[\u4e00-\u9fff]")
