"""Databases for the registry's tests: SQLite in a folder, Postgres on a private port when its binaries are here."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def registry_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'registry.db'}"
    server: str = request.getfixturevalue("postgres_server")
    name = f"registry_{abs(hash(request.node.nodeid)):x}"
    engine = create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{server}/{name}"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Postgres of our own on a free port, gone when the tests are."""
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("needs the Postgres server binaries (apt-get install postgresql)")
    pytest.importorskip("psycopg2", reason='needs pip install "loopwright[postgres]"')
    folder = tmp_path_factory.mktemp("postgres")
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    if user:
        for place in (folder, *folder.parents):
            if place == Path(tempfile.gettempdir()):
                break
            place.chmod(0o755)
        shutil.chown(folder, user)
    data = str(folder / "data")
    initdb = [str(binaries / "initdb"), "-D", data, "-U", "loopwright", "--auth=trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, user=user)
    port = free_port()
    options = ["-D", data, "-p", str(port), "-k", str(folder), "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]
    log = (folder / "log").open("w")
    server = subprocess.Popen([str(binaries / "postgres"), *options], stdout=log, stderr=log, user=user)
    try:
        wait_for_port(port, server)
        yield f"postgresql+psycopg2://loopwright@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def postgres_binaries() -> Path | None:
    """Where `initdb` and `postgres` lie; Debian keeps them off the path."""
    found = [Path(p).parent for p in (shutil.which("initdb"),) if p]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Return once something accepts connections."""
    for _ in range(300):
        assert server.poll() is None, "the server ended while starting"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on {port} after 30 s")
