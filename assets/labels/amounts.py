"""Amounts in a request: the most that may be paid, and for how many people."""

from assets.labels.words import Hits, Words

_CURRENCIES = "€$£¥"
_LIMITS = frozenset({"under", "below", "max", "maximum", "than", "within", "budget", "most", "only"})
_LIMITS_ZH = ("预算", "不超过", "低于", "少于", "不到", "最多")
_NOT_PEOPLE = frozenset(
    {"day", "days", "night", "nights", "hour", "hours", "week", "weeks", "minute", "minutes", "month", "months"}
)


def budget_in(words: Words, hits: Hits) -> int | None:
    """The amount of money that is named, in whole units of the currency named; None where there is none."""
    if not words.numbers:
        return None
    money = {hit.start for hit in hits.under("money")}
    for i in words.numbers:
        number = _amount(words.folded[i])
        if number is not None and (_has_currency(words, i, money) or _is_limit(words, i)):
            return number
    return None


def party_in(words: Words, hits: Hits) -> int | None:
    """How many people the request is for; None where it does not say."""
    numbers = {hit.start: int(hit.meaning.heads["numbers"]) for hit in hits.under("numbers")}
    numbers |= {i: int(words.folded[i]) for i in words.numbers if len(words.folded[i]) <= 2}
    if not numbers:
        return None
    people = {hit.start for hit in hits.under("people")}
    for i, count in numbers.items():
        if i + 1 in people or _for_so_many(words, i, people):
            return count
    return None


def _for_so_many(words: Words, i: int, people: set[int]) -> bool:
    """`for two`, `party of 4`."""
    if i == 0 or i + 1 in people:
        return False
    lead = words.folded[max(0, i - 2) : i]
    if lead[-1] == "for" and not words.folded[i].isdecimal():
        return i + 1 == len(words.folded) or words.folded[i + 1] not in _NOT_PEOPLE
    return lead == ["party", "of"] or lead == ["table", "for"]


def _has_currency(words: Words, i: int, money: set[int]) -> bool:
    return (
        i + 1 in money
        or words.gaps[i].strip().endswith(tuple(_CURRENCIES))
        or words.gaps[i + 1][:1] in tuple(_CURRENCIES)
    )


def _is_limit(words: Words, i: int) -> bool:
    """`under 300`: a bare number of three digits or more after a word that caps it."""
    if not words.folded[i].isdecimal() or not 3 <= len(words.folded[i]) <= 5:
        return False
    return words.folded[i - 1] in _LIMITS or "".join(words.folded[max(0, i - 3) : i]).endswith(_LIMITS_ZH)


def _amount(word: str) -> int | None:
    whole = word.split(".")[0].replace(",", "")
    return int(whole) if whole.isdecimal() and len(whole) < 8 and "-" not in word and ":" not in word else None
