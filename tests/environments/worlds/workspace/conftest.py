"""One pool of sessions per file of tests."""

from collections.abc import Iterator

import pytest

from tests.environments.sandboxes.builders import sandboxes
from tests.environments.worlds.workspace.builders import Ground


@pytest.fixture(scope="module")
def ground(docker_engine: str) -> Iterator[Ground]:
    made = Ground(sandboxes(docker_engine))
    yield made
    made.verifier.close()
    made.world().close()
