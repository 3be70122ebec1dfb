"""A request with its particulars taken out, so that what is asked can be compared without what it is asked about.

"weather in Lagos on June 12" and "weather in Oslo tomorrow" become one text: cities, days and numbers are replaced by
words of the same kind that the embedder knows.
"""

from assets.labels.constraints import Reading
from assets.labels.words import is_chinese

_SOMEWHERE = ("somewhere", "某地")
_SOMEDAY = ("someday", "某天")
_NUMBER = "number"


def masked(reading: Reading) -> str:
    """The request in lower case, its cities, days and numbers masked; never empty."""
    words = reading.words
    chinese = any(is_chinese(word) for word in words.raw)
    spans = {city.start: (city.stop, _SOMEWHERE[chinese]) for city in reading.mentions}
    spans |= {day.start: (day.stop, _SOMEDAY[chinese]) for day in reading.days}
    pieces: list[str] = []
    i = 0
    while i < len(words.folded):
        stop, word = spans.get(i, (i + 1, _NUMBER if words.folded[i][0].isdigit() else words.folded[i]))
        pieces += (" " if words.gaps[i] else "", word)
        i = max(stop, i + 1)
    return "".join(pieces).strip() or "nothing"
