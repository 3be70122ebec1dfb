"""Whether a code or a name has evidence: shown by a tool, written in the policy, or named by the user."""

import difflib
import re
from collections.abc import Sequence
from functools import cache

from environments.verifiers.claim import HAN
from environments.verifiers.evidence import Evidence, tokens_of


def code_supported(value: str, evidence: Evidence, said: Sequence[str]) -> str | None:
    """None where a code was shown or the user named it, else the code that comes closest."""
    theirs = tokens_of(said)
    if any(evidence.has_words(way) or f" {_folded(way)} " in theirs for way in _ways(value)):
        return None
    if len(value) == 3 and _of_named_city(value, said):
        return None
    if value.isdigit() and len(value) == 4 and any(re.search(rf"{value}(?!\d)", text) for text in evidence.texts):
        return None
    shown = {m[0].upper() for text in evidence.texts if len(text) < 40 for m in _TOKEN.finditer(text)}
    return next(iter(difflib.get_close_matches(value, sorted(shown), 1, 0.5)), "")


def _ways(code: str) -> tuple[str, ...]:
    """A short code as it may be written: UA16, UA 16 and UA-16."""
    parts = _SHORT.fullmatch(code)
    return (code,) if parts is None else (code, f"{parts[1]}{parts[2]}", f"{parts[1]} {parts[2]}")


_SHORT = re.compile(r"([A-Z]{1,3}|[A-Z]\d|\d[A-Z])[ -]?(\d{1,4})")


def _folded(value: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", value.casefold()))


_TOKEN = re.compile(r"[#A-Za-z0-9_-]*\d[A-Za-z0-9_-]*|[A-Z]{3,}")


def name_supported(value: str, evidence: Evidence, said: Sequence[str]) -> str | None:
    """None where a name was shown, or the user named it; else the name that comes closest."""
    if HAN.search(value):
        return _han_supported(value, evidence, said)
    theirs = tokens_of(said)
    if evidence.has_words(value) or f" {_folded(value)} " in theirs:
        return None
    words = _folded(value).split()
    if _by_airport(value, evidence, said) or (len(words) > 1 and all(f" {word} " in theirs for word in words)):
        return None
    shown = sorted({t for t in evidence.texts if t[:1].isupper() and len(t) < 60})
    return next(iter(difflib.get_close_matches(value, shown, 1, 0.4)), "")


def _han_supported(value: str, evidence: Evidence, said: Sequence[str]) -> str | None:
    """A Chinese name, of which the first signs may belong to the sentence and the kind of place may be left out."""
    joined = "\n".join(said)
    for start in range(max(1, len(value) - 3)):
        part = value[start:]
        if evidence.has_text(part) or part in joined:
            return None
    bare = re.sub(r"(?:大酒店|酒店|饭店|餐厅|博物馆|公园|机场|火车站|高铁站|站|店|寺)$", "", value)
    if len(bare) >= 2 and (evidence.has_text(bare) or bare in joined):
        return None
    shown = sorted({t for t in evidence.texts if HAN.search(t) and len(t) < 30})
    return next(iter(difflib.get_close_matches(value, shown, 1, 0.2)), "")


@cache
def _airports() -> dict[str, frozenset[str]]:
    """IATA code -> the folded words of its city and its name."""
    import airportsdata

    found = airportsdata.load("IATA").items()
    return {code: frozenset(_folded(f"{a['city']} {a['name']}").split()) for code, a in found}


def _by_airport(value: str, evidence: Evidence, said: Sequence[str]) -> bool:
    """Whether an airport's code that was shown or said stands for the city or the airport named."""
    wanted = set(_folded(value).split())
    codes = {t for t in evidence.texts if len(t) == 3 and t.isupper()}
    codes |= {m[0] for text in said for m in re.finditer(r"\b[A-Z]{3}\b", text)}
    spare = 1 if len(wanted) >= 3 else 0
    return bool(codes) and any(
        len(wanted - _airports().get(code, frozenset())) <= spare for code in codes & _airports().keys()
    )


def _of_named_city(code: str, said: Sequence[str]) -> bool:
    """Whether it is the code of an airport of a city that the user named."""
    words = _airports().get(code, frozenset())
    theirs = {m[0].casefold() for text in said for m in re.finditer(r"[A-Z]\w{3,}", text)}
    return bool(words & theirs)
