"""Which entries of what tools returned a sentence is about, so that the price of one flight is not said of another."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from environments.verifiers.claim import HAN, Claim
from environments.verifiers.claims import claims
from environments.verifiers.evidence import Evidence, Known
from environments.verifiers.wording import block_of, sentence_at

COMPARES = re.compile(
    r"(?i)\b(?:than|compared|versus|vs|instead|difference|cheaper|more|less|faster|slower"
    r"|together|total|both|rather|not|or|while|whereas|couldn't|unable|without|nearer"
    r"|closer|farther|later|earlier)\b"
    r"|[比差贵慢]|便宜|一共|合计|而"
)
"""A sentence that sets entries side by side, in which a value need not belong to the one named last."""


@lru_cache(maxsize=1024)
def _compares(sentence: str) -> bool:
    return COMPARES.search(sentence) is not None


def named_before(claim: Claim, text: str, evidence: Evidence) -> set[int]:
    """Rows that the sentence names last before the claim, where nothing in it compares."""
    begin, sentence = sentence_at(text, claim.start)
    if not evidence.owners or _compares(sentence):
        return set()
    own = text[begin : claim.start].casefold()
    last = max((c.end for c in claims(sentence) if c.kind == "number" and c.unit and c.end <= len(own)), default=0)
    return _since_last_value(own, last, evidence) or named_in(_item_before(text, claim.start), evidence)


def elsewhere(
    claim: Claim, text: str, fitting: Sequence[Known], known: Iterable[Known], evidence: Evidence
) -> str | None:
    """What the entry named before the claim has in place of a value that only others have; None where all is well."""
    if not fitting or len(evidence.parents) < 2 or any(not k.row for k in fitting):
        return None
    rows = named_before(claim, text, evidence)
    own = [k for k in known if k.row in rows]
    if not own or any(related(k.row, rows, evidence) for k in fitting):
        return None
    return f"that is {fitting[0].shown}; here: {own[0].shown}"


def _since_last_value(before: str, last: int, evidence: Evidence) -> set[int]:
    """Rows named after the `last` quantity in `before`: `UA16 for 152 euros and AF48 for` is about AF48."""
    named = sorted(_mentions(before, evidence), key=lambda m: (m[0], -len(m[1])))
    behind = [rows for at, rows in named if at >= last] or [rows for _, rows in named[-1:]]
    return {row for rows in behind for row in rows}


def _item_before(text: str, at: int) -> str:
    """What stands before the claim in its list item; nothing where the text is no list."""
    block = block_of(text, at)
    begin = text.rfind(block, 0, at + len(block))
    return text[begin:at].casefold() if "\n" in block and begin >= 0 else ""


def named_in(sentence: str, evidence: Evidence) -> set[int]:
    """Every row that a sentence names."""
    return {row for _, rows in _mentions(sentence.casefold(), evidence) for row in rows}


def _mentions(folded: str, evidence: Evidence) -> Iterator[tuple[int, set[int]]]:
    """Where texts of rows are mentioned last, each with its rows; a name may be cut down."""
    for owner, rows in evidence.owners.items():
        at = max(_last(name, folded) for name in _names_of(owner))
        if at >= 0:
            yield at, rows


@cache
def _names_of(owner: str) -> tuple[str, ...]:
    """A name as a whole, without what stands in brackets, and by its first or last word where that is long enough."""
    bare = re.split(r"\s*[((]", owner)[0]
    parts = bare.split(" ")
    short = [part for part in (parts[0], parts[-1]) if len(parts) > 1 and len(part) >= 5]
    return tuple(dict.fromkeys([owner, *([bare] if len(bare) > 1 else []), *short]))


def _last(owner: str, folded: str) -> int:
    """Position of the last mention, as whole words unless it is Chinese; -1 for none."""
    if owner not in folded:
        return -1
    if HAN.search(owner):
        return folded.rfind(owner)
    at = folded.rfind(owner)
    while at >= 0 and (_latin(folded[at - 1 : at]) or _latin(folded[at + len(owner) : at + len(owner) + 1])):
        at = folded.rfind(owner, 0, at + len(owner) - 1)
    return at


def _latin(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def related(row: int, rows: Iterable[int], evidence: Evidence) -> bool:
    """Whether `row` is one of `rows`, lies in one, or holds one."""
    return any(row in _line(other, evidence) or other in _line(row, evidence) for other in rows)


def _line(row: int, evidence: Evidence) -> list[int]:
    line = [row]
    while parent := evidence.parents.get(line[-1], 0):
        line.append(parent)
    return line
