"""What a request is about, as a key: two requests whose keys differ are never near copies of each other.

Letters and embeddings both put "from Paris to Rome on Friday" beside "from Rome to Paris on Sunday". Cities with their
roles, day, modes, kind of place, amounts and every other number must agree before similarity is even asked; numbers
that differ (FM 1506, FM 1507) keep both. Each half of the policy can be switched off.
"""

from collections.abc import Sequence

from assets.labels.constraints import Constraints, Reading, constraints_of, read


def as_read(texts: Sequence[str]) -> list[str]:
    """The texts as the rules read them: folded words only, slips of the finger undone, marks of the scrub gone.

    What is embedded, so that `fligth` is no place of its own in the space. A text without words stays as it is.
    """
    return [" ".join(read(text).words.folded) or text for text in texts]


def facts_of(texts: Sequence[str], *, numbers: bool = True, names: bool = True) -> list[str]:
    """One key per text.

    Args:
        texts: requests, in any language.
        numbers: whether numbers that differ keep both requests.
        names: whether cities, days, modes and the other slots that differ keep both.
    """
    return [_key(text, numbers=numbers, names=names) for text in texts]


def _key(text: str, *, numbers: bool, names: bool) -> str:
    if not (numbers or names):
        return ""
    reading = read(text)
    parts = _slots(constraints_of(reading)) if names else []
    if numbers:
        parts += ["#", *_loose_numbers(reading)]
    return "\x1f".join(parts)


def _slots(found: Constraints) -> list[str]:
    alone = len(found.cities) == 1
    cities = sorted(city.city if alone else f"{city.role}:{city.city}" for city in found.cities)
    day = found.date.value if found.date is not None else ""
    slots = (day, found.kind, found.budget, found.sort, found.sky, found.write, found.party)
    return [*cities, "|", *sorted(found.modes), "|", *map(str, slots), *(word.casefold() for word in found.unresolved)]


def _loose_numbers(reading: Reading) -> list[str]:
    """Numbers that are not part of a day, in order: "12 June" and "on 2026-06-12" say the same."""
    in_days = {i for day in reading.days if day.value is not None for i in range(day.start, day.stop)}
    return [reading.words.folded[i] for i in reading.words.numbers if i not in in_days]
