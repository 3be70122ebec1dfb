"""Brings a registry database to the newest schema, once per process, whoever comes first."""

import fcntl
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

BUSY_S: Final = 30
LOCK: Final = 7_215_031
"""Advisory lock on Postgres under which one process migrates."""


class RegistryError(RuntimeError):
    """The registry cannot be reached, is newer than this code, or was told two different facts under one name."""


@functools.cache
def ready_engine(url: str) -> Engine:
    """An engine on a database that has the newest schema.

    Raises:
        RegistryError: bad URL, missing driver, no server, or a schema that this code does not know.
    """
    place = _checked(url)
    if place.get_backend_name() == "sqlite":
        Path(place.database or "").parent.mkdir(parents=True, exist_ok=True)
    try:
        engine = create_engine(place, poolclass=NullPool)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _configure_sqlite)
        with _alone(place), engine.begin() as connection:
            _upgrade(connection, shown=place.render_as_string())
    except ModuleNotFoundError as error:
        raise RegistryError(f'{error}: pip install "loopwright[postgres]"') from error
    except DBAPIError as error:
        raise RegistryError(
            f"the registry at {place.render_as_string()} does not answer: {error.orig}. "
            "Check the URL and that the server runs"
        ) from error
    return engine


def _checked(url: str) -> URL:
    allowed = "allowed: sqlite:////absolute/path.db, postgresql://user:password@host/database"
    try:
        place = make_url(url)
    except ArgumentError as error:
        raise RegistryError(f"the registry's URL {url!r} is not a database URL; {allowed}") from error
    if place.get_backend_name() not in {"sqlite", "postgresql"}:
        raise RegistryError(f"the registry does not know {place.drivername!r}; {allowed}")
    if place.get_backend_name() == "sqlite" and place.database in {None, "", ":memory:"}:
        raise RegistryError(f"the registry's URL {url!r} names no file; {allowed}")
    return place.set(drivername="postgresql+psycopg2") if place.drivername == "postgresql" else place


def _configure_sqlite(connection: Any, _record: object) -> None:
    for pragma in (f"busy_timeout = {BUSY_S * 1000}", "journal_mode = WAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


@contextmanager
def _alone(place: URL) -> Iterator[None]:
    """Let one process migrate a SQLite file at a time; Postgres has a lock of its own in `_upgrade`."""
    if place.get_backend_name() != "sqlite":
        yield
        return
    with Path(f"{place.database}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _upgrade(connection: Connection, *, shown: str) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    config = alembic_config(connection)
    scripts = ScriptDirectory.from_config(config)
    here = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in scripts.walk_revisions()}
    if here is not None and here not in known:
        raise RegistryError(f"the registry at {shown} has schema {here}, newer than this code knows: update loopwright")
    if here != scripts.get_current_head():
        command.upgrade(config, "head")


def alembic_config(connection: Connection) -> Config:
    """What alembic's own commands need to work on this connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
