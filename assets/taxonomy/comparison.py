"""How far groups that were found agree with groups that are known: ARI, NMI, purity.

Source: Hubert and Arabie (1985); Strehl and Ghosh (2002), normalised by the arithmetic mean.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Likeness(NamedTuple):
    """Found groups against known ones, over the same items."""

    items: int
    groups: int
    ari: float
    """Adjusted Rand index: 1 the same groups, 0 what chance gives."""
    nmi: float
    """Normalised mutual information: 1 the same groups, 0 none to do with each other."""
    purity: float
    """Share of items whose known group is the commonest of their found group; rises with the number of groups."""


def likeness(found: Sequence[Hashable], known: Sequence[Hashable]) -> Likeness:
    """Compare two partitions.

    Raises:
        ValueError: they do not pair up, or there are no items.
    """
    if not found or len(found) != len(known):
        raise ValueError(f"both partitions must cover the same items, got {len(found)} and {len(known)}")
    table_FK = _table(found, known)
    return Likeness(
        len(found),
        len(table_FK),
        _ari(table_FK),
        _nmi(table_FK / len(found)),
        float(table_FK.max(axis=1).sum() / len(found)),
    )


def _table(found: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.float64]:
    rows = {name: i for i, name in enumerate(dict.fromkeys(found))}
    columns = {name: i for i, name in enumerate(dict.fromkeys(known))}
    table_FK = np.zeros((len(rows), len(columns)))
    np.add.at(table_FK, ([rows[f] for f in found], [columns[k] for k in known]), 1)
    return table_FK


def _ari(table_FK: NDArray[np.float64]) -> float:
    together, left, right, every = (
        float((n * (n - 1) / 2).sum()) for n in (table_FK, table_FK.sum(axis=1), table_FK.sum(axis=0), table_FK.sum())
    )
    expected = left * right / every if every else 0.0
    most = (left + right) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def _nmi(share_FK: NDArray[np.float64]) -> float:
    left, right = share_FK.sum(axis=1), share_FK.sum(axis=0)
    there = share_FK > 0
    mutual = float((share_FK[there] * np.log(share_FK[there] / np.outer(left, right)[there])).sum())
    entropy = -float((left * np.log(left)).sum() + (right * np.log(right)).sum()) / 2
    return 1.0 if entropy == 0 else mutual / entropy
