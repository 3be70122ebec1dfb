"""One pool of sessions, one verifier and one base image per file of tests."""

from collections.abc import Iterator

import pytest

from environments.formats.harbor_import import import_folders
from environments.sandboxes.image import ensure_local_image
from environments.worlds.harbor.grounds import Caps, Grounds, engine_of, hang_up
from tests.environments.worlds.harbor.builders import Ground
from tests.environments.worlds.harbor.folders import folder_of

CAPS = Caps(memory_mb=256, cpus=1.0, storage_mb=16, processes=64, command_s=10.0, agent_s=30.0)
"""With limits that a test can reach."""


@pytest.fixture(scope="module")
def ground(docker_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    grounds = Grounds(CAPS)
    base = ensure_local_image(engine_of().client)
    folder = folder_of(tmp_path_factory.mktemp("harbor") / "hello", base=base)
    [task] = import_folders([folder], grounds=grounds).tasks
    made = Ground(grounds, base, task)
    yield made
    made.close()
    hang_up()
