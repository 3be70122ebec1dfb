"""Where real places lie, worked out from what is known of them: district, metro station and who lies near whom.

The databases name no coordinates. Each place starts somewhere in its district and is then drawn, round by round, to the
middle of those that share its metro station or are listed as near it. What results keeps neighbours near and districts
apart; a distance within it is an estimate, to be read as such.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from environments.seeds import unit_hash
from environments.worlds.atlas.full.data_model import Point, moved
from environments.worlds.atlas.full.records import Record

ROUNDS = 24
PULL = 0.6
"""How much of a place's position its neighbours decide."""
MOST_NEIGHBOURS = 30
"""So many of a list of neighbours count: the lists of famous places name half the city."""


def district_of(records: Sequence[Record], spelled: Mapping[str, str]) -> dict[str, str]:
    """District by name of place: as its address says, else as most of its metro station's or neighbours' do.

    Args:
        records: the places.
        spelled: district by each spelling that an address may hold.
    """
    told = {r.name: d for r in records for word, d in spelled.items() if word in r.address[:12]}
    by_station: dict[str, Counter[str]] = defaultdict(Counter)
    for r in records:
        if r.station and r.name in told:
            by_station[r.station][told[r.name]] += 1
    found = dict(told)
    for r in records:
        votes = by_station[r.station] if r.station else Counter[str]()
        votes = votes or Counter(told[n] for n in r.nearby if n in told)
        if r.name not in found and votes:
            found[r.name] = min(votes, key=lambda d: (-votes[d], d))
    return found


def positions(
    records: Sequence[Record], districts: Mapping[str, str], seats: Mapping[str, Point], middle: Point
) -> dict[str, Point]:
    """Position by name of place.

    Args:
        records: the places.
        districts: district by name of place.
        seats: where each district's seat lies.
        middle: where the places without a district start.
    """
    start_N2 = np.array([_start(r, seats.get(districts.get(r.name, ""), middle)) for r in records])
    index = {r.name: i for i, r in enumerate(records)}
    ends = _edges(records, index)
    a_E, b_E = ends[:, 0], ends[:, 1]
    count_N = np.maximum(1, np.bincount(a_E, minlength=len(records)))
    pull_N1 = (PULL * (np.bincount(a_E, minlength=len(records)) > 0))[:, None]
    at_N2 = start_N2
    for _ in range(ROUNDS):
        mean_N2 = np.stack([np.bincount(a_E, at_N2[b_E, k], len(records)) / count_N for k in (0, 1)], axis=1)
        at_N2 = (1 - pull_N1) * start_N2 + pull_N1 * mean_N2
    return {r.name: Point(round(float(x), 4), round(float(y), 4)) for r, (x, y) in zip(records, at_N2, strict=True)}


def _start(record: Record, seat: Point) -> Point:
    """Somewhere within 6 km of the district's seat, the same for everything at one metro station."""
    what = ("station", record.station) if record.station else ("place", record.name)
    at = moved(seat, 6 * math.sqrt(unit_hash("start", *what)), 2 * math.pi * unit_hash("towards", *what))
    return moved(at, 0.6 * unit_hash("door", record.name), 2 * math.pi * unit_hash("door towards", record.name))


def _edges(records: Sequence[Record], index: Mapping[str, int]) -> np.ndarray:
    """Pairs (who is drawn, to whom), each both ways."""
    pairs: set[tuple[int, int]] = set()
    for record in records:
        here = index[record.name]
        for other in [n for n in record.nearby if n in index and n != record.name][:MOST_NEIGHBOURS]:
            pairs |= {(here, index[other]), (index[other], here)}
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
