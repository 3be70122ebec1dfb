"""Codes and names in Latin letters: order ids, flight numbers, booking codes, addresses of mail, proper names."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from environments.verifiers.claim import WORDS, Claim, Rule

_UNITS_AND_ZONES = (
    "AM PM EST EDT PST PDT CST CET GMT UTC USD EUR GBP CNY RMB ID IDS OK FAQ VIP USA UK EU ETA ASAP "
    "PDF URL API SMS GPS WIFI TV AC DIY VAT TBD TBA NA FYI PS NOT AND THE FOR YES NO ONLY ALL STOP "
    "DOB ZIP PIN CRM ERP KWH KM"
)
_NO_CODES = frozenset(_UNITS_AND_ZONES.split())
"""Capital letters that name nothing."""


@cache
def common_words() -> frozenset[str]:
    """Words that are no names though a sentence, a heading or a label opens with them."""
    text = files("environments.verifiers").joinpath("data/common_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


_FIRST_WORDS = "new old north south east west northern southern eastern western central great grand royal"
_MORE_FIRST_WORDS = "saint san upper lower"
_EDGES = frozenset(f"{_FIRST_WORDS} {_MORE_FIRST_WORDS}".split())
"""Words with which names begin, and that name nothing alone."""


def common(word: str) -> bool:
    """Whether a capitalised word is an ordinary one, in whichever of its forms."""
    plain = word.lower().replace("’", "'")
    known = common_words()
    return plain in known or all(any(stem in known for stem in _stems(part)) for part in plain.split("-"))


def _stems(word: str) -> list[str]:
    """A word and what it may be a form of: removing, remove; cancelled, cancel; flights, flight."""
    stems = [word, word.removesuffix("'s"), word.removesuffix("s")]
    for ending in ("ing", "ed", "es", "er", "ly", "d"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            stems += [stem, stem + "e", stem[:-1] if stem[-1] == stem[-2] else stem]
    return stems


def _code(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("code", match[0].upper(), None, *match.span())]


def _capitals(match: re.Match[str]) -> Sequence[Claim] | None:
    said = match[0]
    return None if said in _NO_CODES or common(said) or said.lower() in WORDS else _code(match)


def _labelled(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("code", match["code"].upper(), None, *match.span("code"))]


def _nothing(match: re.Match[str]) -> Sequence[Claim]:
    return []


def _name(match: re.Match[str]) -> Sequence[Claim]:
    """A run of capitalised words, less the ordinary ones at its ends; closed-vocabulary words in it are words."""
    words = list(re.finditer(r"\S+", match[0]))
    closed = [c for w in words for c in _words(w[0].lower(), match.start() + w.start())]
    while words and _ordinary(words[0][0]):
        words.pop(0)
    while words and _ordinary(words[-1][0]):
        words.pop()
    if not words or all(w[0].lower() in _EDGES or _ordinary(w[0]) for w in words):
        return closed
    start, end = match.start() + words[0].start(), match.start() + words[-1].end()
    said = re.sub(r"['’]s?$", "", match.string[start:end])
    return [Claim("name", said, None, start, start + len(said)), *closed]


def _ordinary(word: str) -> bool:
    return word.lower() in WORDS or common(word)


def _words(word: str, start: int) -> list[Claim]:
    return [Claim("word", word, None, start, start + len(word))] if word in WORDS else []


FIRST: tuple[Rule, ...] = (
    (re.compile(r"(?<=\n)[ \t>*#-]*\d{1,2}[.)](?=[ \t*])|^\d{1,2}[.)](?=[ \t*][^\n]*\n)", re.A), _nothing),
    (re.compile(r"\b(?:Option|Step|Choice|Leg|Segment|Passenger|Part|Flight|Item|Answer) \d{1,2}(?=\W)(?![.,]\d"
        r"| ?[%€$])", re.A), _nothing),
    (re.compile(r"\b24/7\b|\b[YMD]{2,4}[-/][YMD]{2}[-/][YMD]{2,4}\b", re.A), _nothing),
    (re.compile(r"https?://\S+|\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+", re.A), _code),
)  # fmt: skip
_EDGE, _TAIL = r"(?<![A-Za-z0-9_#@.])", r"(?![A-Za-z0-9_])"
CODES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"{_EDGE}(?P<letters>[B-HJ-Z]|[A-Z]{{2}}|[A-Z]\d|\d[A-Z])[ \u00a0](?P<digits>\d{{2,4}}){_TAIL}"
            r"(?![.,:/]\d)",
            re.A,
        ),
        lambda m: _spaced_code(m),
    ),
    (re.compile(r"#[A-Za-z]*\d[A-Za-z0-9-]*", re.A), _code),
    (
        re.compile(
            rf"{_EDGE}(?=[A-Za-z0-9_-]{{0,64}}\d)(?=[0-9_-]{{0,64}}[A-Za-z])"
            rf"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*{_TAIL}",
            re.A,
        ),
        lambda m: _mixed_code(m),
    ),
    (re.compile(rf"{_EDGE}[a-z]+(?:_[a-z]+)*_\d+{_TAIL}", re.A), _code),
    (
        re.compile(rf"(?<![A-Za-z0-9_.,])\d{{3,}}(?:-\d{{3,}})+{_TAIL}", re.A),
        lambda m: _code(m) if sum(map(str.isdigit, m[0])) >= 7 else None,
    ),
    (re.compile(r"(?<![A-Za-z0-9_.,])\d{7,}(?![A-Za-z0-9_]|[.,]\d)", re.A), _code),
    (
        re.compile(
            r"(?i)(?:\bending (?:in|with)|\b(?:zip|postal|post) ?codes?|\bzip|\b(?:number|id|code"
        r"|card|certificate|account|no\.)[:#]?|尾号[是为]?|卡号|邮编)"
            r"[\s:*#]*(?:is\s+)?(?P<code>\d{4,})(?![A-Za-z0-9_]|[.,]\d)",
            re.A,
        ),
        _labelled,
    ),
    (re.compile(r"(?<![A-Za-z0-9_])[A-Z]{3,8}(?![A-Za-z0-9_'’])", re.A), _capitals),
)  # fmt: skip
_WORD = r"[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9_'’-]*"
NAMES: tuple[Rule, ...] = (
    (re.compile(rf"(?<![A-Za-zÀ-ÿ0-9_]){_WORD}(?: (?:(?:of|de|la|del|von|van) )?{_WORD})*"), _name),
    (re.compile(r"(?<![A-Za-z0-9_])[a-z]+(?![A-Za-z0-9_])", re.A), lambda m: _words(m[0], m.start()) or None),
)


def _mixed_code(match: re.Match[str]) -> Sequence[Claim] | None:
    """Letters and digits in one token; an ordinary word with a number behind a hyphen, or a bare unit, is none."""
    said = match[0]
    if re.fullmatch(r"\d+(?:st|nd|rd|th|x|X|s)|\d+-[a-z]+(?:-[a-z]+)*|[a-z]+-\d+|[A-Za-z]+-[A-Za-z]+", said):
        return None
    return _code(match)


def _spaced_code(match: re.Match[str]) -> Sequence[Claim] | None:
    """`UA 16` is the code UA16; an ordinary word in capitals with a number behind it is none."""
    letters = match["letters"]
    if letters in _NO_CODES or (letters.isalpha() and len(letters) > 1 and common(letters)):
        return None
    return [Claim("code", letters + match["digits"], None, *match.span())]
