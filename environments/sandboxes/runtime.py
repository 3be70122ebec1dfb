"""Our Python for containers of images that have none: in a volume, started by its own loader, changed by nobody inside.

An image of others may have no Python, an old one, or one that its agent may not touch for another reason; the worker
must not depend on it. Interpreter, standard library and every shared library, the C library too, are this machine's.
"""

import io
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from environments.sandboxes.engine import LABEL, OWNER, Engine, engine_errors, owner
from environments.sandboxes.image import ensure_local_image, loader, local_image, write_python
from environments.sandboxes.layout import PYTHON

if TYPE_CHECKING:
    import docker

_COMPLETE: Final = "complete"
_PLACE: Final = "/runtime"


def start_command() -> tuple[str, ...]:
    """What starts our Python from the volume."""
    return (f"{PYTHON}/{loader()}", "--library-path", f"{PYTHON}/usr/lib", f"{PYTHON}/usr/local/bin/python3")


def ensure_runtime(engine: Engine) -> str:
    """Fill the volume, unless the engine has it; returns its name.

    Raises:
        SandboxError: the engine failed, or busybox is missing here.
    """
    client = engine.client
    name = f"loopwright-runtime-{local_image().partition(':')[2]}"
    with engine_errors("make the volume with Python"):
        image = ensure_local_image(client)
        client.volumes.create(name)
        host = client.api.create_host_config(binds={name: {"bind": _PLACE, "mode": "rw"}}, network_mode="none")
        labels = {LABEL: "1", OWNER: owner()}
        container = client.api.create_container(image=image, command=["true"], host_config=host, labels=labels)["Id"]
        try:
            if not _has(client, container):
                _fill(client, container)
        finally:
            engine.remove(container)
    return name


def _has(client: "docker.DockerClient", container: str) -> bool:
    from docker.errors import NotFound

    try:
        stream, _ = client.api.get_archive(container, f"{_PLACE}/{_COMPLETE}")
    except NotFound:
        return False
    for _ in stream:
        pass
    return True


def _fill(client: Any, container: str) -> None:
    """Put the files there, the sign that all are there last."""
    with tempfile.TemporaryDirectory(prefix="loopwright-runtime-") as folder:
        archive = Path(folder) / "runtime.tar"
        with tarfile.open(archive, "w") as tar:
            write_python(tar)
        with archive.open("rb") as stream:
            client.api.put_archive(container, _PLACE, stream)
    sign = io.BytesIO()
    with tarfile.open(fileobj=sign, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(_COMPLETE))
    client.api.put_archive(container, _PLACE, sign.getvalue())
