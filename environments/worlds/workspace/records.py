"""Programs over records, composed from seeds: what is asked in words, the code that does it, and data to try it on.

A query is a shape (totals by a key, the best few, a running sum ...) over a filter of one or two conditions. Words and
code are composed from the same parts, so that there are as many tasks as compositions rather than templates; what is
expected is computed by running the composed code.
"""

import random
from dataclasses import dataclass
from typing import Any, Final

REGIONS: Final = ("north", "south", "east", "west", "centre")
ITEMS: Final = ("bolt", "cable", "drill", "filter", "gasket", "hinge", "lamp", "pump", "valve", "wrench")
NAMES: Final = ("summary", "digest", "overview", "extract", "rollup", "breakdown", "tally", "survey")
KEYS: Final = ("item", "region", "day", "paid")
FIELDS: Final = (
    "`item` and `region` (strings), `day` (an ISO date as a string), `amount` (cents, an integer, negative for a "
    "credit), `quantity` (an integer) and `paid` (true or false)"
)


@dataclass(frozen=True)
class Query:
    """One composed function."""

    function: str
    words: str
    """What it must return, as a user says it."""
    source: str
    """A module with the function, documented by `words`."""


def records(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Made-up rows with ties, repeats and credits in them."""
    return [
        {
            "item": rng.choice(ITEMS[:6]),
            "region": rng.choice(REGIONS),
            "day": f"2026-{rng.randint(1, 4):02d}-{rng.choice((1, 2, 9, 15, 28)):02d}",
            "amount": rng.choice((-500, 0, 100, 250, 250, 999, 1000, 1001, 4000, 20_000)) + rng.choice((0, 0, 1, -1)),
            "quantity": rng.randint(0, 5),
            "paid": rng.random() < 0.6,
        }
        for _ in range(count)
    ]


def compose(rng: random.Random) -> Query:
    """Draw a query."""
    function = f"{rng.choice(NAMES)}_{rng.choice(('of', 'by', 'for'))}_{rng.choice(('orders', 'sales', 'records'))}"
    conditions = [_condition(rng, kind) for kind in rng.sample(("amount", "quantity", "flag", "month", "region"), 2)]
    joiner = rng.choice(("and", "or"))
    conditions = conditions[: rng.choice((1, 2, 2))]
    wanted = f" {joiner} ".join(words for words, _ in conditions)
    code = f" {joiner} ".join(code for _, code in conditions)
    words, body = rng.choice(_SHAPES)(rng)
    said = f"Of the records {wanted}, return {words}"
    source = (
        f'"""Figures about records."""\n\n\ndef {function}(records):\n    """{said}"""\n'
        f"    kept = [r for r in records if {code}]\n{body}"
    )
    return Query(function, said, source)


def _condition(rng: random.Random, kind: str) -> tuple[str, str]:
    """One condition in words and in code."""
    if kind == "amount":
        bound = rng.choice((100, 250, 999, 1000, 4000))
        words, sign = rng.choice((("more than", ">"), ("at least", ">="), ("less than", "<"), ("at most", "<=")))
        return f"with an amount of {words} {bound} cents", f'r["amount"] {sign} {bound}'
    if kind == "quantity":
        words, sign = rng.choice((("more than", ">"), ("fewer than", "<")))
        bound = rng.randint(2, 4)
        return f"of {words} {bound} pieces", f'r["quantity"] {sign} {bound}'
    if kind == "flag":
        return rng.choice((("that are paid", 'r["paid"]'), ("that are not paid", 'not r["paid"]')))
    if kind == "month":
        month = rng.randint(2, 3)
        words, sign = rng.choice((("before", "<"), ("from", ">=")))
        which = {2: "February", 3: "March"}[month]
        return f"{words} 1 {which} 2026{' on' if sign == '>=' else ''}", f'r["day"] {sign} "2026-{month:02d}-01"'
    region = rng.choice(REGIONS)
    return f"outside the region {region}", f'r["region"] != "{region}"'


def _measure(rng: random.Random) -> tuple[str, str]:
    return rng.choice((("amount", 'r["amount"]'), ("quantity", 'r["quantity"]'),
                       ("amount times quantity", 'r["amount"] * r["quantity"]')))  # fmt: skip


def _totals(rng: random.Random) -> tuple[str, str]:
    (name, value), key = _measure(rng), rng.choice(KEYS[:3])
    words = f"a dict from each {key} to its sum of {name}, without those whose sum is 0."
    body = (
        "    totals = {}\n    for r in kept:\n"
        f'        totals[r["{key}"]] = totals.get(r["{key}"], 0) + {value}\n'
        "    return {k: v for k, v in totals.items() if v != 0}\n"
    )
    return words, body


def _best(rng: random.Random) -> tuple[str, str]:
    (name, value), count, low = _measure(rng), rng.randint(2, 4), rng.random() < 0.5
    order = value if low else f"-({value})"
    which = "lowest" if low else "highest"
    words = (
        f"the {count} with the {which} {name} as a list of records; of equals, the one with the earlier day and then \
the one that comes first in the input goes first."
    )
    return words, f'    return sorted(kept, key=lambda r: ({order}, r["day"]))[:{count}]\n'


def _running(rng: random.Random) -> tuple[str, str]:
    (name, value), floor = _measure(rng), rng.choice((0, -100))
    words = (
        f"the running sums of {name} in the order of the input, where a sum that falls below {floor} is set to {floor}\
 and goes on from there."
    )
    body = (
        "    sums, total = [], 0\n    for r in kept:\n"
        f"        total = max({floor}, total + {value})\n        sums.append(total)\n    return sums\n"
    )
    return words, body


def _gaps(rng: random.Random) -> tuple[str, str]:
    key, size = rng.choice(KEYS[:2]), rng.randint(2, 3)
    words = (
        f"the values of {key} that occur at least {size} times, each with the number of times as a pair, most frequent\
 first and equals in alphabetical order."
    )
    body = (
        f'    counts = {{}}\n    for r in kept:\n        counts[r["{key}"]] = counts.get(r["{key}"], 0) + 1\n'
        f"    often = [[k, n] for k, n in counts.items() if n >= {size}]\n"
        "    return sorted(often, key=lambda pair: (-pair[1], pair[0]))\n"
    )
    return words, body


def _middle(rng: random.Random) -> tuple[str, str]:
    (name, value), upper = _measure(rng), rng.random() < 0.5
    side = "upper" if upper else "lower"
    words = (
        f"the median of {name}, the {side} of the two middle values where their number is even, and None where there is\
 no record."
    )
    index = "len(values) // 2" if upper else "(len(values) - 1) // 2"
    body = (
        f"    values = sorted({value} for r in kept)\n    if not values:\n        return None\n"
        f"    return values[{index}]\n"
    )
    return words, body


def _firsts(rng: random.Random) -> tuple[str, str]:
    key, last = rng.choice(KEYS[:2]), rng.random() < 0.5
    which, keep = ("last", "") if last else ("first", f'        if r["{key}"] in seen:\n            continue\n')
    words = (
        f"for each {key} the amount of its {which} record by day, as a dict; of records on one day, the one that comes \
{which} in the input counts."
    )
    body = (
        '    seen = {}\n    for r in sorted(kept, key=lambda r: r["day"]):\n'
        f'{keep}        seen[r["{key}"]] = r["amount"]\n    return seen\n'
    )
    return words, body


def _streak(rng: random.Random) -> tuple[str, str]:
    key = rng.choice(KEYS[1:])
    words = f"the length of the longest run of neighbours in the input with the same {key}; 0 where there is no record."
    body = (
        "    best = length = 0\n    previous = object()\n    for r in kept:\n"
        f'        length = length + 1 if r["{key}"] == previous else 1\n        previous = r["{key}"]\n'
        "        best = max(best, length)\n    return best\n"
    )
    return words, body


_SHAPES: Final = (_totals, _best, _running, _gaps, _middle, _firsts, _streak)
