"""An image made of what this machine has, for where no registry is: its Python with the standard library, and busybox.

    python -m environments.sandboxes.image          # imports it into the engine and prints its name

Nothing is downloaded and nothing of Loopwright is in it. Where there is a registry, any image with `/bin/sh` and
`python3` (3.9 or later, with ctypes) will do; `Dockerfile`s may also build on this one.
"""

import hashlib
import inspect
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from environments.sandbox import SandboxError

if TYPE_CHECKING:
    import docker

REPOSITORY: Final = "loopwright-sandbox"
_LEFT_OUT: Final = {
    "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip",
    "__pycache__",
}  # fmt: skip
_ETC: Final = {
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}
_FOLDERS: Final = ("bin", "usr", "usr/bin", "usr/lib", "usr/local", "usr/local/bin", "usr/local/lib", "etc", "dev",
                   "proc", "sys", "lib64")  # fmt: skip
_OPEN_FOLDERS: Final = ("tmp", "work")


@cache
def local_image() -> str:
    """The name of this machine's image: its tag changes with Python, architecture, C library and recipe."""
    recipe = inspect.getsource(sys.modules[__name__])
    made_of = (sys.version, platform.machine(), platform.libc_ver(), recipe)
    return f"{REPOSITORY}:{hashlib.blake2b(repr(made_of).encode(), digest_size=6).hexdigest()}"


def ensure_local_image(client: "docker.DockerClient") -> str:
    """Import this machine's image, unless the engine has it; returns its name.

    Raises:
        SandboxError: busybox is missing here, or the engine refuses the import.
    """
    import docker

    name = local_image()
    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        repository, tag = name.split(":")
        with tempfile.TemporaryDirectory(prefix="loopwright-image-") as folder:
            archive = Path(folder) / "root.tar"
            write_archive(archive)
            with archive.open("rb") as stream:
                client.api.import_image_from_data(stream, repository=repository, tag=tag)
    return name


def write_archive(archive: Path) -> None:
    """The root file system as a tar file.

    Raises:
        SandboxError: there is no busybox on this machine.
    """
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SandboxError(
            "no busybox to make the sandbox's image of: apt-get install busybox-static, or name an image"
        )
    with tarfile.open(archive, "w") as tar:
        for folder in _FOLDERS:
            _add_folder(tar, folder, 0o755)
        for folder in _OPEN_FOLDERS:
            _add_folder(tar, folder, 0o777)
        for path, text in _ETC.items():
            _add_text(tar, path, text)
        binaries = [*_add_python(tar), *_add_busybox(tar, Path(busybox))]
        _add_libraries(tar, binaries)


def write_python(tar: tarfile.TarFile) -> None:
    """Interpreter, standard library and all that they load: what runs in an image that has nothing of it."""
    _add_libraries(tar, _add_python(tar))


@cache
def loader() -> str:
    """The dynamic loader of this machine's Python, by its path in the archive."""
    told = subprocess.run(["ldd", str(_interpreter())], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^\s*(/\S+) \(0x", told, re.MULTILINE)
    if found is None:
        raise SandboxError(f"{_interpreter()} is started by no loader, so it runs in no image but this machine's own")
    return found[1].lstrip("/")


def _interpreter() -> Path:
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _add_folder(tar: tarfile.TarFile, path: str, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    tar.addfile(entry)


def _add_text(tar: tarfile.TarFile, path: str, text: str) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(text.encode()), 0o644
    tar.addfile(entry, io.BytesIO(text.encode()))


def _add_link(tar: tarfile.TarFile, path: str, target: str) -> None:
    entry = tarfile.TarInfo(path)
    entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
    tar.addfile(entry)


def _add_file(tar: tarfile.TarFile, source: Path, path: str) -> None:
    """A file by its content: owned by root, readable by all, links followed."""
    entry = tar.gettarinfo(str(source.resolve()), path)
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.type, entry.mode = tarfile.REGTYPE, entry.mode | 0o444
    entry.size = source.stat().st_size
    with source.open("rb") as content:
        tar.addfile(entry, content)


def _add_python(tar: tarfile.TarFile) -> list[Path]:
    """The interpreter and its standard library under /usr/local; returns what may need shared libraries."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    binary = _interpreter()
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    _add_file(tar, binary, f"usr/local/bin/{version}")
    _add_link(tar, "usr/local/bin/python3", version)
    _add_link(tar, "usr/local/bin/python", version)
    kept = list(_library_files(library))
    for source in kept:
        _add_file(tar, source, f"usr/local/lib/{version}/{source.relative_to(library)}")
    return [binary, *(p for p in kept if p.suffix == ".so")]


def _library_files(library: Path) -> Iterator[Path]:
    """Files of the standard library that a program may need, in a fixed order, with a bytecode cache beside each."""
    for folder, inner, files in os.walk(library):
        inner[:] = sorted(d for d in inner if d not in _LEFT_OUT and not d.startswith("config-"))
        for file in sorted(files):
            yield Path(folder) / file
            cached = Path(folder) / "__pycache__" / f"{file[:-3]}.{sys.implementation.cache_tag}.pyc"
            if file.endswith(".py") and cached.exists():  # the container cannot write one, and compiling takes time
                yield cached


def _add_busybox(tar: tarfile.TarFile, busybox: Path) -> list[Path]:
    """Busybox, and a link for each of its commands."""
    _add_file(tar, busybox, "bin/busybox")
    listed = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=True)
    for command in sorted(set(listed.stdout.split()) - {"busybox"}):
        _add_link(tar, f"bin/{command}", "busybox")
    return [busybox]


def _add_libraries(tar: tarfile.TarFile, binaries: list[Path]) -> None:
    """The shared libraries that `binaries` load: all in /usr/lib, where the loader looks without a cache."""
    found: dict[str, Path] = {}
    told = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    for name, place in re.findall(r"^\s*(\S+) => (/\S+)", told, re.MULTILINE):
        found[f"usr/lib/{Path(name).name}"] = Path(place)
    for place in re.findall(r"^\s*(/\S+) \(0x", told, re.MULTILINE):
        found[place.lstrip("/")] = Path(place)
    for path, source in sorted(found.items()):
        _add_file(tar, source, path)


if __name__ == "__main__":
    from environments.sandboxes.engine import Engine

    sys.stdout.write(ensure_local_image(Engine("").client) + "\n")
