"""Numbers and their units: how they are spelled, which dimension a unit measures, and how one converts into another."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_SPELLINGS = {
    "euros": "euro euros eur €",
    "dollars": "dollar dollars usd $ bucks",
    "pounds": "pound pounds gbp £",
    "yuan": "yuan cny rmb yen jpy ¥ ¥",
    "cents": "cent cents pence",
    "degrees": "degree degrees celsius c ° ℃",
    "fahrenheit": "fahrenheit f ℉",
    "km": "km kms kilometre kilometres kilometer kilometers",
    "miles": "mile miles mi",
    "metres": "metre metres meter meters m",
    "feet": "feet foot ft",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "minutes": "minute minutes min mins",
    "hours": "hour hours hr hrs h",
    "seconds": "second seconds sec secs s",
    "days": "day days",
    "weeks": "week weeks",
    "months": "month months",
    "years": "year years",
    "kg": "kg kgs kilo kilos kilogram kilograms",
    "grams": "g gram grams",
    "lb": "lb lbs",
    "kwh": "kwh",
    "litres": "l litre litres liter liters",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "tonnes": "tonne tonnes",
    "kcal": "kcal calorie calories",
    "gb": "gb gigabyte gigabytes",
    "mb": "mb megabyte megabytes",
    "square metres": "sqm m2 m²",
    "percent": "% percent pct",
}
UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
"""Units by spelling; the ones that no tool returns are here so that "152 dollars" is not taken for 152 euros."""
UNIT_WORDS = "|".join(sorted(filter(str.isalpha, UNITS), key=len, reverse=True))
SIGNS = "€$£¥¥"

_SCALE = {
    "minutes": ("time", 1.0), "hours": ("time", 60.0), "seconds": ("time", 1 / 60), "days": ("time", 1440.0),
    "weeks": ("time", 10080.0), "months": ("months", 1.0), "years": ("months", 12.0),
    "business days": ("business days", 1.0),
    "metres": ("length", 1.0), "km": ("length", 1000.0), "miles": ("length", 1609.344), "feet": ("length", 0.3048),
    "cm": ("length", 0.01), "nautical miles": ("length", 1852.0),
    "kg": ("mass", 1.0), "grams": ("mass", 0.001), "lb": ("mass", 0.45359237), "tonnes": ("mass", 1000.0),
    "jin": ("mass", 0.5),
    "litres": ("volume", 1.0), "ml": ("volume", 0.001), "gb": ("data", 1024.0), "mb": ("data", 1.0),
}  # fmt: skip
UNDECLARED = frozenset(("volume", "data", "kcal", "square metres"))
"""Dimensions in which tools seldom name their unit: a number without one may be of them, exactly as it stands."""
CURRENCIES = ("euros", "dollars", "pounds", "yuan")
_MONEY_FIELDS = re.compile(
    r"(?i)(price|cost|fee|fare|total|amount|balance|refund|charge|payment|paid|tax|tariff|deposit|budget)s?$"
)
_TIME_FIELDS = {
    "minutes": "minutes", "hours": "hours", "days": "days", "km": "km", "duration_min": "minutes", "litres": "litres",
    "liters": "litres", "ml": "ml", "kcal": "kcal", "gb": "gb", "mb": "mb", "kg": "kg",
}  # fmt: skip


CLOSE = 0.06
"""How far a number said with "about" may be from what it stands for."""


class Measure(NamedTuple):
    """A number in the base unit of its dimension."""

    dimension: str
    """`time` (minutes), `length` (metres), `mass` (kg), `degrees` (Celsius), a currency, `money` (currency unknown),
    the unit itself where nothing converts into it, or empty where there is none."""
    value: float
    step: float
    """How much one unit of the last digit said is worth."""


def measured(value: float, unit: str | None, step: float = 0.0) -> Measure:
    """`value` in `unit`, in the base unit of its dimension."""
    if unit == "fahrenheit":
        return Measure("degrees", (value - 32) / 1.8, step / 1.8)
    if unit == "cents":
        return Measure("money", value / 100, step / 100)
    dimension, factor = _SCALE.get(unit or "", (unit or "", 1.0))
    return Measure(dimension, value * factor, step * factor)


def looks_round(said: Measure) -> bool:
    """Whether a number looks rounded in its own unit: at most two digits that count, or whole fives."""
    own = said.value / said.step if said.step >= 1 else said.value
    digits = f"{own:.6g}".replace(".", "").strip("0")
    return len(digits) <= 2 or own % 5 == 0


def comparable(dimension: str, other: str) -> bool:
    """Whether values of the two dimensions may be equal: the same, or money and any currency."""
    return dimension == other or ("money" in (dimension, other) and is_money(dimension) and is_money(other))


def is_money(dimension: str) -> bool:
    """Whether it is a currency, known or not."""
    return dimension == "money" or dimension in CURRENCIES


def unit_of_field(path: tuple[str, ...], units: Mapping[str, str]) -> str:
    """Unit of a numeric field: the world's own word for it or for what it is part of, else what its name tells."""
    for key in reversed(path):
        if key in units:
            return UNITS.get(units[key].lower(), units[key])
    for key in reversed(path):
        if _MONEY_FIELDS.search(key):
            return "money"
    return _TIME_FIELDS.get(path[-1].rpartition("_")[2], "") if path else ""


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMERALS = {w: i for i, w in enumerate(_ONES.split())} | {w: 20 + 10 * i for i, w in enumerate(_TENS.split())}
NUMERAL = "|".join([*_NUMERALS, "hundred", "thousand"])
"""Pattern of one English numeral."""
SPELLED = rf"(?:{NUMERAL})\b(?:[\s-]{{1,3}}(?:and\s{{1,3}})?(?:{NUMERAL})\b){{0,12}}+"
"""Pattern of an English number in words; bounded and never tried again shorter, or long runs would take seconds."""


def value_in_words(said: str) -> int:
    """The value of an English number in words."""
    total = part = 0
    for word in re.split(r"[\s-]+", said.lower().strip()):
        if word == "thousand":
            total, part = total + max(1, part) * 1000, 0
        elif word == "hundred":
            part = max(1, part) * 100
        else:
            part += _NUMERALS.get(word, 0)
    return total + part


NUMBER = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+,\d{2}(?!\d)"
    r"|\d{1,3}(?:['’\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?(?!\d)"
    r"|\d++(?:\.\d++)?+"
)
"""Pattern of a number in digits: 1234.5, 1,234.5, 1'234.5, 1.234,50 and 1 234,50."""


GROUPED = (
    r"(?<![A-Za-z0-9_.,'’/:-])(?<!\d )(?P<number>[1-9]\d{0,2}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d{1,2})?)(?!\d)"
)
"""Pattern of a number whose thousands stand apart by a blank or an apostrophe: 1 299, or else a 1 and 299."""


def digits_value(said: str) -> str:
    """The number that `said` spells, as a plain decimal."""
    said = re.sub(r"[ '’\u00a0\u2009\u202f]", "", said)
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}", said):
        return said.replace(".", "").replace(",", ".")
    return said.replace(",", "")


def step_of(value: str) -> float:
    """What one unit of the last digit of a plain decimal is worth: 1 for 152, 0.1 for 9.3."""
    return float(10.0 ** -len(value.partition(".")[2]))


HAN_DIGITS = {d: i for i, d in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000}
HAN_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?[千万百]?|[零〇一二两三四五六七八九十百千万]+(?:点[零〇一二三四五六七八九]+)?)"
"""Pattern of a number in Chinese text: digits with or without 千 or 万 behind them, or Chinese numerals."""


def han_value(said: str) -> float:
    """The value of a number in Chinese text: 3千, 1.2万, 一百二十, 两百五, 二〇二六."""
    said = said.replace(",", "")
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)([百千万]?)", said):
        return float(match[1]) * {"": 1, "百": 100, "千": 1000, "万": 10000}[match[2]]
    whole, _, part = said.partition("点")
    fraction = float("0." + "".join(str(HAN_DIGITS[d]) for d in part)) if part else 0.0
    if len(whole) > 1 and all(d in HAN_DIGITS for d in whole):
        return int("".join(str(HAN_DIGITS[d]) for d in whole)) + fraction
    *high, low = whole.split("万")  # 万万, as in 万万没想到, is no mistake of ours
    total = 0
    for part in high:
        total = (total + _han_below(part)) * 10000
    return total + _han_below(low, 10000 if any(high) else 0) + fraction


def _han_below(said: str, scale: int = 0) -> int:
    """A numeral below 10,000; a bare digit at the end counts in tenths of the last scale: 两百五 is 250."""
    total, digit, zero = 0, 0, False
    for sign in said:
        if sign in _HAN_SCALES:
            scale = _HAN_SCALES[sign]
            total, digit = total + (digit or 1) * scale, 0
        else:
            digit, zero = HAN_DIGITS[sign], sign in "零〇" or zero
    return total + digit * (scale // 10 if scale > 10 and digit and not zero else 1)
