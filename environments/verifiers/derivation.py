"""Numbers that a careful person would work out from evidence: sums, differences, products with counts, shares, means.

Few numbers give many results, so what may be combined is bounded (`MOST` values, `DEEPEST` of them in one sum) and the
sentence must say what was done: a total, a comparison, a share. The difference of two fares grounds no third fare.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from environments.verifiers.evidence import Known

MOST, DEEPEST = 8, 3
_TOTAL = re.compile(
    r"(?i)\b(?:total\w*|together|in all|altogether|overall|both|all (?:the )?\w+|combined"
    r"|sums?|comes? to|came to|adds? up|plus|makes?"
    r"|for (?:the )?(?:two|three|four|five|six|\d+)|each way|round[ -]trip|whole|entire"
    r"|in full|and|including|subtotal)\b"
    r"|[+=×*]|一共|总共|总计|合计|共|加起来|加上|总|全部|全程|来回|往返"
)
_COMPARED = re.compile(
    r"(?i)\b(?:more|less|fewer|cheaper|dearer|costlier|pricier|faster|slower|longer|shorter"
    r"|warmer|colder|cooler|hotter|higher|lower"
    r"|closer|farther|further|nearer|heavier|lighter|earlier|later|differen\w+|differs?"
    r"|gap|than|sav(?:e|es|ed|ing|ings)|left|remain\w*|without|minus|over|extra|additional"
    r"|below|above|short|balance|rest|change|refund\w*|back|due|owed?|leaves?|off|ahead"
    r"|behind|apart|layover|wait\w*|up|down|takes?|spread|range)\b"
    r"|[-\u2212]|比|差|贵|便宜|快|慢|剩|多|少|余|温差|相差|减|退|省|高|低|远|近|早|晚|超过|超出"
)
_SHARE = re.compile(
    r"(?i)(?:%|per ?cent|\bhalf\b|\boff\b|discount\w*|\bfees?\b|restock\w*|interest|\bsav\w+"
    r"|deposit|refund\w*|back|penalt\w*|commission|\btax\w*|\btip|surcharge|reduc\w+|senior"
    r"|child\w*|concession\w*)"
    r"|折|成|半价|优惠|手续费|退|扣|百分之|老人|儿童|定金|税|省"
)
_MEAN = re.compile(
    r"(?i)\b(?:average\w*|mean|on average|per|each|a (?:day|night|month|week|person|head)|apiece)\b|平均|人均|每|均"
)
_RATIO = re.compile(
    r"(?i)\b(?:more|less|cheaper|dearer|than|share|increase\w*|decrease\w*|rose|fell|higher"
    r"|lower|up|down|of (?:the|your|all|this))\b|涨|降|占|比|便宜|贵"
)
Fits = Callable[[float], bool]


class Parts(NamedTuple):
    """What a number may be worked out from."""

    values: Sequence[Known]
    """In the number's dimension; beyond `MOST` different ones nothing is combined."""
    here: Sequence[Known]
    """Those of the entries that the sentence names, all where it names none."""
    columns: Sequence[Sequence[Known]]
    """One field over the rows of a list, for totals and means."""
    counts: Sequence[int]
    """Persons, nights, pieces: what a price is multiplied with."""
    shares: Sequence[float]
    """Percentages that evidence names."""
    named: bool
    """Whether the sentence names the counts itself."""
    own: Sequence[Known] = ()
    """Every value of the entries that the sentence or its list item names."""
    focus: Sequence[Known] = ()
    """Values that the sentence states."""
    stated: Sequence[Known] = ()
    """Values that the agent has stated lately."""


def derived(fits: Fits, sentence: str, parts: Parts) -> str | None:
    """How the number that `fits` follows from evidence, as a formula, or None.

    Args:
        fits: whether a value is the one that was said.
        sentence: in which it was said; it must say what kind of result it is, unless there are two values in all.
        parts: what may be combined.
    """
    known, here = _few(parts.values), _few(parts.here)
    pair = len(known) == 2 and not any(map(_of_policy, known))
    total = bool(_TOTAL.search(sentence))
    ways: list[str | None] = []
    if pair or _COMPARED.search(sentence):
        ways.append(_difference(fits, known) or _from_stated(fits, parts))
    if pair or total:
        ways.append(_sum(fits, here, parts.columns))
    if parts.named or total:
        ways.append(_product(fits, here, parts.counts) or _product(fits, parts.own, parts.counts, most=1))
        ways.append(_two_products(fits, here, parts.counts) if total and len(parts.counts) > 1 else None)
    ways.append(_of_rows(fits, parts.own))
    if _SHARE.search(sentence):
        ways.append(_share(fits, here, parts.shares))
    if _MEAN.search(sentence):
        ways.append(_mean(fits, here, parts.columns, parts.counts))
    return next((way for way in ways if way), None)


def _few(values: Sequence[Known]) -> list[Known]:
    """The different values, none where they are too many to combine."""
    known = list({k.value: k for k in values}.values())
    return known if len(known) <= MOST else []


def _of_policy(known: Known) -> bool:
    """Whether it stands in the policy: two of its numbers make no third."""
    return "(policy)" in known.shown


def _difference(fits: Fits, known: Sequence[Known]) -> str | None:
    for a, b in itertools.combinations(known, 2):
        if fits(abs(a.value - b.value)) and not (_of_policy(a) and _of_policy(b)):
            high, low = (a, b) if a.value > b.value else (b, a)
            return f"{high.shown} - {low.shown}"
    for (a, b), c in itertools.product(itertools.combinations(known, 2), known):
        if c not in (a, b) and len(known) <= DEEPEST and fits(a.value + b.value - c.value):
            return f"{a.shown} + {b.shown} - {c.shown}"
    for a, (b, c) in itertools.product(known, itertools.combinations(known, 2)):
        if a not in (b, c) and len(known) <= DEEPEST and fits(a.value - b.value - c.value):
            return f"{a.shown} - {b.shown} - {c.shown}"
    return None


def _sum(fits: Fits, known: Sequence[Known], columns: Sequence[Sequence[Known]]) -> str | None:
    shown = [k for k in known if not _of_policy(k)]
    for part in (*itertools.combinations(known, 2), *itertools.combinations(shown, DEEPEST)):
        if fits(sum(k.value for k in part)) and not all(map(_of_policy, part)):
            return " + ".join(k.shown for k in part)
    for column in columns:
        if fits(sum(k.value for k in column)):
            return f"sum of {len(column)} values: {column[0].shown} ..."
    return None


def _from_stated(fits: Fits, parts: Parts) -> str | None:
    """What is left of a value stated lately after one that the sentence states."""
    for a, b in itertools.product(parts.stated, parts.focus):
        if a.value > b.value and fits(a.value - b.value):
            return f"{a.shown} - {b.shown}"
    return None


def _of_rows(fits: Fits, own: Sequence[Known]) -> str | None:
    """The sum of one field over two entries that are named together: a flight and its connection."""
    for a, b in itertools.combinations(own[:40], 2):
        if a.row != b.row and a.shown.split(" ")[0] == b.shown.split(" ")[0] and fits(a.value + b.value):
            return f"{a.shown} + {b.shown}"
    return None


def _product(fits: Fits, known: Sequence[Known], counts: Sequence[int], most: int = 2) -> str | None:
    """A price or the sum of two (there and back), so many times."""
    for n in dict.fromkeys(counts):
        for part in (p for size in range(1, most + 1) for p in itertools.combinations(known, size)):
            if 1 < n <= 20 and fits(n * sum(k.value for k in part)):
                return f"{n} x ({' + '.join(k.shown for k in part)})"
    return None


def _two_products(fits: Fits, known: Sequence[Known], counts: Sequence[int]) -> str | None:
    """Two prices, each with a count of its own: two adults and two children."""
    some = [n for n in dict.fromkeys(counts) if n <= 9][:4]
    for a, b in itertools.permutations(known[:6], 2):
        for n, m in itertools.product(some, (1, *some)):
            if fits(n * a.value + m * b.value):
                return f"{n} x {a.shown} + {m} x {b.shown}"
    return None


def _share(fits: Fits, known: Sequence[Known], shares: Sequence[float]) -> str | None:
    for k, share in itertools.product(known, dict.fromkeys(shares)):
        for part in (share / 100, 1 - share / 100):
            if 0 < part < 1 and fits(k.value * part):
                return f"{100 * part:g}% of {k.shown}"
    return None


def _mean(fits: Fits, known: Sequence[Known], columns: Sequence[Sequence[Known]], counts: Sequence[int]) -> str | None:
    for column in columns:
        if fits(sum(k.value for k in column) / len(column)):
            return f"mean of {len(column)} values: {column[0].shown} ..."
    for k, n in itertools.product(known, dict.fromkeys(counts)):
        if n > 1 and fits(k.value / n):
            return f"{k.shown} / {n}"
    return None


def ratio(fits: Fits, sentence: str, known: Sequence[Known]) -> str | None:
    """How a percentage follows as the share of one value in another, or as the change from one to another."""
    few = list({k.value: k for k in known}.values())
    if len(few) > MOST or not _RATIO.search(sentence):
        return None
    for a, b in itertools.permutations(few, 2):
        if b.value and (fits(100 * a.value / b.value) or fits(100 * abs(a.value - b.value) / b.value)):
            return f"{a.shown} against {b.shown}"
    return None
