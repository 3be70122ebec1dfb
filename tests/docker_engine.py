"""A Docker engine for the tests: the one that DOCKER_HOST names, or a real one of our own, gone when the tests are."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PLACE = Path("/var/tmp")
"""Containers need a file system that can lie under an overlay; /tmp may be one that cannot."""


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[str]:
    """The engine's address, which is also Docker's own variable while the tests run."""
    pytest.importorskip("docker", reason='needs pip install "loopwright[docker]"')
    given = os.environ.get("DOCKER_HOST")
    if given:
        yield given
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs a Docker engine: DOCKER_HOST, or root and dockerd (apt-get install docker.io)")
    if shutil.which("busybox") is None:
        pytest.skip("needs busybox for the sandbox's image (apt-get install busybox-static)")
    folder = Path(tempfile.mkdtemp(prefix="loopwright-docker-", dir=PLACE))
    host = f"unix://{folder}/engine.sock"
    log = (folder / "log").open("w")
    engine = subprocess.Popen(_command(folder, host), stdout=log, stderr=log)
    os.environ["DOCKER_HOST"] = host
    try:
        _wait_for(host, engine, folder / "log")
        yield host
    finally:
        del os.environ["DOCKER_HOST"]
        _remove_all(host)
        engine.terminate()
        engine.wait(60)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _remove_all(host: str) -> None:
    """Remove what tests left: an engine that stops waits for each container."""
    from environments.sandboxes.engine import Engine

    engine = Engine(host)
    for container in engine.ours():
        engine.remove(container["Id"])
    engine.client.close()


def _command(folder: Path, host: str) -> list[str]:
    places = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-p", f"{folder}/pid", "-H", host]
    return ["dockerd", *places, "--iptables=false", "--ip6tables=false", "--bridge=none"]


def _wait_for(host: str, engine: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return once it answers; an engine that cannot run here is a skip, which CI turns into a failure."""
    for _ in range(300):
        if engine.poll() is not None:
            pytest.skip(f"dockerd does not run here: {log.read_text()[-400:]}")
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(host.removeprefix("unix://")) == 0:
                return  # it answers questions once it is ready for them
        time.sleep(0.2)
    raise TimeoutError(f"no engine at {host} after 60 s: {log.read_text()[-400:]}")
