"""A request with its particulars taken out, so that what is asked can be compared without what it is asked about.

"weather in Lagos on June 12" and "weather in Oslo tomorrow" become one text: cities, days and numbers are replaced by
words of the same kind that the embedder knows.
"""

from assets.labels.constraints import Reading
from assets.labels.words import has_chinese

_SOMEWHERE = ("somewhere", "某地")
_SOMEDAY = ("someday", "某天")
_NUMBER = "number"


def masked(reading: Reading) -> str:
    """The request in lower case, its cities, days and numbers masked; never empty."""
    said = list(reading.words.folded)
    for i in reading.words.numbers:
        said[i] = _NUMBER
    pieces = [f" {word}" if gap else word for word, gap in zip(said, reading.words.gaps, strict=False)]
    if reading.mentions or reading.days:
        _mask_spans(pieces, reading)
    return "".join(pieces).strip() or "nothing"


def _mask_spans(pieces: list[str], reading: Reading) -> None:
    """Put one word in the place of each city and day; of two that overlap, the first."""
    chinese = has_chinese(reading.words)
    spans = {city.start: (city.stop, _SOMEWHERE[chinese]) for city in reading.mentions}
    spans |= {day.start: (day.stop, _SOMEDAY[chinese]) for day in reading.days}
    done = 0
    for start, (stop, word) in sorted(spans.items()):
        if start >= done:
            pieces[start:stop] = [f" {word}" if reading.words.gaps[start] else word, *[""] * (stop - start - 1)]
            done = stop
