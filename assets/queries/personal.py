"""The shapes of personal data in one text: phones, e-mails, payment cards, identity numbers, addresses.

Read from left to right: where a number starts, what must stay (dates, times, prices) is recognised first, then identity
numbers, cards and phones. A wrong mask costs one query, a missed one a person: in doubt a number shaped like a phone is
one. Addresses are "address-like": a house number with a street.

Source: Luhn (ISO/IEC 7812), GB 11643 for Chinese identity numbers, national numbering plans.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

KINDS: Final = ("email", "id", "card", "phone", "address")
"""What is found; the mark of each kind is its name in angle brackets."""


class Span(NamedTuple):
    """Where in a text a value stands."""

    start: int
    end: int
    kind: str


_ONE_WIDTH: Final = {0xFEE0 + c: c for c in range(0x21, 0x7F)} | dict.fromkeys(map(ord, "‐‑‒–—―−·"), ord("-"))
_PLAIN: Final = _ONE_WIDTH | dict.fromkeys(
    map(ord, "\u3000\u00a0\u2002\u2003\u2009\u200b\u200c\u200d\u2060\ufeff"), ord(" ")
)
"""Character by character, so that places in the plain text are places in the original."""

_MONTH, _DAY, _YEAR = "(?:1[0-2]|0?[1-9])", "(?:3[01]|[12][0-9]|0?[1-9])", "(?:19|20)[0-9]{2}"
_AMOUNT: Final = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
_UNIT: Final = (
    r"(?:(?:euros?|eur|dollars?|usd|rmb|cny|yuan|pounds?|gbp|yen|km|kilomet(?:er|re)s?|met(?:er|re)s?|miles)\b"
    r"|[€$£¥元块%]|人民币|欧元|美元|英镑|日元|公里|千米)"
)
_STAYS: Final = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        rf"{_YEAR}[-/.年]\s?{_MONTH}[-/.月]\s?{_DAY}(?![0-9])(?:[T ]?[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?)?",
        rf"(?:{_MONTH}[-/.]{_DAY}|{_DAY}[-/.]{_MONTH})[-/.]{_YEAR}(?![0-9])",
        rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9])",
        rf"{_YEAR}\s?-\s?{_YEAR}(?![0-9-])",
        r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9])",
        r"-?[0-9]{1,3}\.[0-9]{3,},\s?-?[0-9]{1,3}\.[0-9]{3,}",  # latitude,longitude
        rf"{_AMOUNT}(?:\s?(?:-|to|到|至)\s?{_AMOUNT})?\s?{_UNIT}",
    )
)
_PRICED: Final = re.compile(r"[€$£¥]\s?(?:[0-9.,]+\s?-\s?)?$")
_CUE: Final = re.compile(
    r"(?:\b(?:call|phone|telephone|tel|mobile|cell|fax|dial|text|ring|reach|whatsapp|contact|sms|qq|number(?! of))"
    r"|电话|手机|号码|致电|联系|传真|微信)[^0-9<>]{0,25}$",
    re.IGNORECASE,
)
_GAP: Final = r"[\s\-.]?"


def _shape(pattern: str) -> re.Pattern[str]:
    """A number's shape: `~` may be one space, dash or dot; no further digit may follow."""
    return re.compile(pattern.replace("~", _GAP) + "(?![0-9])")


_CHINESE_ID: Final = _shape(
    r"[1-9][0-9]{5}~(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])~[0-9]{3}[0-9Xx]"
)
_SOCIAL_ID: Final = _shape(r"[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}")
_CARD: Final = re.compile(r"[2-6](?:[\s\-.]?[0-9]){12,18}")
_CARD_BLOCKS: Final = _shape(r"[3-6][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}")
_PHONES: Final = tuple(
    map(
        _shape,
        (
            r"\+~1~\(?[0-9]{3}\)?~[0-9]{3}~[0-9]{4}",
            r"\+~86~1[0-9]{2}~[0-9]{4}~[0-9]{4}",
            r"\+~[0-9]{1,3}(?:[\s\-.()/]{0,2}[0-9]){6,12}",
            r"00[1-9][0-9]{0,2}(?:~\(?[0-9]\)?){7,11}",
            r"(?:86~)?1[3-9][0-9](?:~[0-9]{4}~[0-9]{4}|~[0-9]{3}~[0-9]{5}|[0-9]~[0-9]{3}~[0-9]{4}|[0-9]{2}~[0-9]{3}~[0-9]{3})",
            r"1(?:\s[0-9]){10}",
            r"\(0[0-9]{1,4}\)~[0-9]{2,4}(?:~[0-9]{2,4}){1,3}",
            r"[48]00~[0-9]{3,4}~[0-9]{3,4}",
            r"(?:1~)?\(?[2-9][0-9]{2}\)?~[0-9]{3}~[0-9]{4}",
            r"0[0-9]{1,4}(?:~[0-9]{2,4}){2,4}",
            r"[6-9][0-9]{4}\s[0-9]{5}",
            r"[6-9][0-9]{2}[\s-][0-9]{3}[\s-][0-9]{3}",
        ),
    )
)
_CUED_PHONE: Final = _shape(r"\(?[0-9](?:[\s\-.()/]{0,2}[0-9]){5,14}")
_NUMBER: Final = re.compile(r"(?<![0-9])(?<![0-9]\.)(?:[+(]{1,2}\s?)?[0-9]+")
_LONG: Final = re.compile(r"[+(]{0,2}[\s]?[0-9](?:[\s\-.()/]{0,2}[0-9]){5}")
"""Shorter runs of digits are nobody's."""
_SPELLED_PHONE: Final = re.compile("[零〇一二三四五六七八九幺]{11}(?![零〇一二三四五六七八九幺])")
_WORD: Final = r"[A-Za-zÀ-ɏ0-9._%+'-]+"
_MAIL: Final = re.compile(
    rf"{_WORD}\s?@\s?[A-Za-zÀ-ɏ0-9-]+(?:[.。][A-Za-zÀ-ɏ0-9-]+)+"
    rf"|{_WORD}\s?(?:\(at\)|\[at\]|\bat\b)\s?[A-Za-z0-9-]+(?:\s?(?:\(dot\)|\[dot\]|\bdot\b)\s?[A-Za-z]{{2,}})+",
    re.IGNORECASE,
)
_NOT_A_NAME: Final = (
    r"(?!(?i:to|from|in|on|at|for|by|the|and|or|of|is|a|an|with|near|via|until|am|pm|me|my|best|stars?|way|hours?|hrs?|minutes?|mins?|days?"
    r"|nights?|weeks?|months?|years?|people|persons?|guests?|euros?|dollars?|kms?|miles?|percent|degrees?|times|tickets?|rooms?|cheap\w*)\b)"
)
_STREET: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?<![0-9][.,:/-])[0-9]{{1,5}}[A-Za-z]?,?\s+(?:(?:{_NOT_A_NAME}[A-Za-z0-9][\w'’]*\.?\s+){{1,3}}"
    r"(?i:street|avenue|road|boulevard|blvd|terrace|parkway)"
    rf"|(?:{_NOT_A_NAME}[A-Z0-9][\w'’]*\.?\s+){{1,3}}(?:Ave|St|Rd|Ln|Lane|Dr|Drive|Court|Ct|Way|Square|Sq|Place|Pl|Highway|Hwy))\b"
    r"(?!\s+(?:trip|map|maps|conditions|closures?|works?)\b)\.?(?:,?\s*(?:(?i:apt|apartment|suite|unit|flat)\.?\s*|#)\w+)?"
)
_HAN: Final = "(?:(?![我你您他她它在到去从住的是了和与给往叫请来至离于])[一-鿿])"
_ZH_STREET: Final = re.compile(
    rf"(?:{_HAN}{{2,8}}(?:省|市|区|县|镇|乡))*{_HAN}{{1,6}}(?:路|街|大道|巷|弄|胡同|村|小区|花园)\s?[0-9]{{1,5}}\s?(?:号院?|弄|栋|幢|单元|室)"
    r"(?:\s?[0-9]{1,4}\s?(?:号楼|号|楼|栋|幢|单元|层|室))*"
)


def find(text: str) -> list[Span]:
    """Every piece of personal data in `text`, in order, none overlapping another."""
    plain = text.translate(_PLAIN)
    found = [Span(*m.span(), "address") for m in _STREET.finditer(plain)]
    if "@" in plain or "dot" in plain.lower():
        found += [Span(*m.span(), "email") for m in _MAIL.finditer(plain)]
    if not plain.isascii():
        found += [Span(*m.span(), "address") for m in _ZH_STREET.finditer(plain)]
        found += [Span(*m.span(), "phone") for m in _SPELLED_PHONE.finditer(plain)]
    return _apart([*found, *_numbers(plain)])


def _apart(spans: list[Span]) -> list[Span]:
    """Of spans that overlap only the one that starts first, then the longest."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _numbers(plain: str) -> Iterator[Span]:
    place = 0
    while group := _NUMBER.search(plain, place):
        span = _number_at(plain, group)
        place = max(span.end, group.start() + 1) if span else group.end()
        if span and span.kind:
            yield span


def _number_at(plain: str, group: re.Match[str]) -> Span | None:
    """What starts at this group of digits: a span of personal data, one without kind that stays, or nothing."""
    if not _LONG.match(plain, group.start()):
        return None
    digit = next(i for i in range(*group.span()) if plain[i].isdigit())
    before = plain[max(0, group.start() - 40) : group.start()]
    cued = bool(_CUE.search(before))
    if before[-1:].isascii() and before[-1:].isalpha() and not cued:
        return None  # BA2490, T20260612
    if _PRICED.search(before):
        return None
    if stays := next((m for shape in _STAYS if (m := shape.match(plain, digit))), None):
        return Span(group.start(), stays.end(), "")
    for start in dict.fromkeys((group.start(), digit)):
        if span := _personal_at(plain, start, cued=cued):
            return span
    return None


def _personal_at(plain: str, start: int, *, cued: bool) -> Span | None:
    if (end := _identity_end(plain, start)) is not None:
        return Span(start, end, "id")
    if (end := _card_end(plain, start)) is not None:
        return Span(start, end, "card")
    shapes = (*_PHONES, _CUED_PHONE) if cued else _PHONES
    for shape in shapes:
        if (match := shape.match(plain, start)) and 7 <= len(_digits(match[0])) <= 15:
            return Span(start, match.end(), "phone")
    return None


def _identity_end(plain: str, start: int) -> int | None:
    if (match := _CHINESE_ID.match(plain, start)) and _gb11643(_digits(match[0])):
        return match.end()
    return match.end() if (match := _SOCIAL_ID.match(plain, start)) else None


def _card_end(plain: str, start: int) -> int | None:
    if match := _CARD.match(plain, start):
        places = [i for i in range(start, match.end()) if plain[i].isdigit()]
        for length in range(len(places), 12, -1):
            end = places[length - 1] + 1
            number = "".join(plain[i] for i in places[:length])
            if not plain[end : end + 1].isdigit() and _issued(number) and luhn(number):
                return end
    return blocks.end() if (blocks := _CARD_BLOCKS.match(plain, start)) else None


def _digits(shape: str) -> str:
    return "".join(c for c in shape if c.isdigit() or c in "xX")


def luhn(number: str) -> bool:
    """Whether the last digit is the check digit of the ones before it."""
    doubled = [int(c) * (1 + i % 2) for i, c in enumerate(reversed(number))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _issued(number: str) -> bool:
    """Whether a card network issues numbers of this start and length."""
    head, length = int(number[:4]), len(number)
    if number[0] == "4":
        return length in (13, 16, 19)
    if 2221 <= head <= 2720 or 5100 <= head <= 5599:
        return length == 16
    if number[:2] in ("34", "37"):
        return length == 15
    return number[0] in "356" and 14 <= length <= 19


def _gb11643(number: str) -> bool:
    """Whether a Chinese identity number's check character is right."""
    weighted = sum(int(c) * (2 ** (17 - i) % 11) for i, c in enumerate(number[:17]))
    return "10X98765432"[weighted % 11] == number[17].upper()
