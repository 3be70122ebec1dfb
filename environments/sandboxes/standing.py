"""Images of others made ready for a sandbox: what an agent may change of them is found, bounded and kept a second time.

The root of a container stays read-only, so programs and libraries of the image are as they were, whatever ran. What an
agent may change are the folders that a task is about: its work folder, every folder at the top that no Linux system
has, and homes. The engine cannot fill memory from an image, so a layer with a copy of these folders is put on it.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from environments.sandboxes.dockerfile import ImageError, image_id, is_there
from environments.sandboxes.engine import LABEL, OWNER, Engine, engine_errors, owner
from environments.sandboxes.layout import NOBODY, PYTHON, Layout
from environments.sandboxes.pristine import COPY
from environments.sandboxes.runtime import ensure_runtime, start_command

REPOSITORY: Final = "loopwright-standing"
_LABEL: Final = "loopwright.layout"
_SYSTEM: Final = frozenset({
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "run", "sbin", "srv",
    "sys", "tmp", "usr", "var", ".loopwright", ".dockerenv", "tests", "solution", "logs",
})  # fmt: skip
"""At the top of every Linux system, and what has a place of its own here."""
OWN: Final = ("/tests", "/solution", "/logs")
"""Empty at the start of an episode: where Harbor puts tests, solution and what is reported."""
_USUAL: Final = "/app"
"""There in any case: where tasks work that say nothing."""
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOOK: Final = (
    "import json, os; print(json.dumps([os.path.exists('/bin/sh'), "
    "sorted(e.name for e in os.scandir('/') if e.is_dir(follow_symlinks=False))]))"
)


@dataclass(frozen=True)
class Room:
    """How much the folders may hold that an agent can change."""

    megabytes: int = 64
    files: int = 4096


@dataclass(frozen=True)
class Standing:
    """An image that sandboxes can be opened from."""

    image: str
    layout: Layout


def standing(engine: Engine, image: str, *, work: str = "", places: tuple[str, ...] = (), room: Room) -> Standing:
    """Make an image ready, unless that was done before.

    Args:
        engine: has the image.
        image: its name.
        work: where commands run; empty: as the image says, else /app.
        places: more folders that may be changed.
        room: what all of them together may hold at the start.

    Raises:
        ImageError: it has no /bin/sh, or those folders hold too much.
        MissingImage: the engine does not have it.
        SandboxError: the engine failed.
    """
    found = image_id(engine, image)
    parts = repr((found, work, places, room, sorted(_SYSTEM), _LOOK, COPY))
    name = f"{REPOSITORY}:{hashlib.blake2b(parts.encode(), digest_size=8).hexdigest()}"
    python = ensure_runtime(engine)
    with engine_errors("make an image ready"):
        settings = engine.client.images.get(found).attrs["Config"] or {}
        if not is_there(engine, name):
            seen = _seen(engine, found, python)
            folder = work or str(settings.get("WorkingDir") or _USUAL)
            _keep(engine, found, name, _chosen(seen, _USUAL if folder == "/" else folder, places), room)
        told = json.loads(engine.client.images.get(name).labels[_LABEL])
    environment = dict(entry.partition("=")[::2] for entry in settings.get("Env") or [])
    layout = Layout(
        work=told["work"], places=tuple(told["places"]), empty=OWN, python=python, start=start_command(),
        environment=tuple(sorted(({"PATH": _PATH, "HOME": "/root"} | environment).items())),
    )  # fmt: skip
    return Standing(name, layout)


def _chosen(top: list[str], work: str, more: tuple[str, ...]) -> dict[str, Any]:
    """Where commands run, and which folders may be changed."""
    own = [f"/{n}" for n in top if n not in _SYSTEM]
    return {"work": work.rstrip("/"), "places": _outermost([work, *own, *more, _USUAL, "/root", "/home"])}


def _keep(engine: Engine, image: str, name: str, told: dict[str, Any], room: Room) -> None:
    """Put the layer with the second copy on the image; which folders it holds is told in a label."""
    api = engine.client.api
    container = _created(engine, image, ["none"])
    try:
        api.put_archive(container, "/", _packed(_members(engine, container, told["places"], room)))
        api.commit(container, *name.split(":"), changes=[f"LABEL {_LABEL}={json.dumps(json.dumps(told))}"])
    finally:
        engine.remove(container)


def _outermost(places: list[str]) -> list[str]:
    """Folders without those that lie in another of them.

    Raises:
        ImageError: one of them may not be changed.
    """
    clean = sorted({p.rstrip("/") for p in places if p.rstrip("/")})
    if bad := [p for p in clean if not p.startswith("/") or ".." in p or p.split("/")[1] in ("proc", "sys", "dev")]:
        raise ImageError(f"{bad[0]} cannot be a folder to work in")
    return [p for p in clean if not any(p.startswith(f"{other}/") for other in clean) and p not in OWN]


def _created(engine: Engine, image: str, command: list[str], python: str = "") -> str:
    """A container that nobody works in: without rights, network or anything to write to."""
    api = engine.client.api
    host = api.create_host_config(
        network_mode="none", read_only=bool(python), cap_drop=["ALL"], security_opt=["no-new-privileges"],
        mem_limit="256m", pids_limit=16, binds={python: {"bind": PYTHON, "mode": "ro"}} if python else None,
    )  # fmt: skip
    labels = {LABEL: "1", OWNER: owner()}
    start = list(start_command()) if python else None
    made = api.create_container(
        image=image, entrypoint=start, command=command, user="0:0", host_config=host, labels=labels,
        environment={"LD_PRELOAD": ""}, working_dir="/",
    )  # fmt: skip
    return str(made["Id"])


def _seen(engine: Engine, image: str, python: str) -> list[str]:
    """The folders at the top; nothing of the image is run."""
    api = engine.client.api
    container = _created(engine, image, ["-I", "-S", "-B", "-c", _LOOK], python)
    try:
        api.start(container)
        api.wait(container, timeout=60)
        said = api.logs(container, stdout=True, stderr=True)
    finally:
        engine.remove(container)
    try:
        shell, top = json.loads(said)
    except ValueError as error:
        raise ImageError(f"the image cannot be started: {said[-200:].decode(errors='replace')}") from error
    if not shell:
        raise ImageError("the image has no /bin/sh, which every command needs")
    return list(top)


_Members = Iterator[tuple[tarfile.TarInfo, bytes]]


def _members(engine: Engine, container: str, places: list[str], room: Room) -> _Members:
    """What the places hold, as the second copy holds it: the agent's own, and readable for it."""
    from docker.errors import NotFound

    held, files = 0, 0
    for place in places:
        yield _named(tarfile.TarInfo(), COPY + place, folder=True), b""
        try:
            stream, told = engine.client.api.get_archive(container, place)
        except NotFound:
            continue
        if told["linkTarget"]:
            raise ImageError(f"{place} is a link in the image, and cannot be a folder to work in")
        parent = place.rpartition("/")[0]
        for entry, content in _unpacked(stream, place, room):
            held, files = held + len(content), files + 1
            if held > room.megabytes << 20 or files > room.files:
                raise ImageError(
                    f"what an agent may change of the image ({', '.join(places)}) holds more than "
                    f"{room.megabytes} MB or {room.files:,} files"
                )
            yield _named(entry, f"{COPY}{parent}/{entry.name}", folder=entry.isdir()), content


def _unpacked(stream: Any, place: str, room: Room) -> _Members:
    """Entries of an archive of the engine; nothing is kept of one that is too large."""
    packed = io.BytesIO()
    for piece in stream:
        packed.write(piece)
        if packed.tell() > (room.megabytes << 20) + (room.files << 11):
            raise ImageError(f"{place} of the image holds more than {room.megabytes} MB, too much to work in")
    packed.seek(0)
    with tarfile.open(fileobj=packed) as tar:
        kept: dict[str, bytes] = {}
        for entry in tar:
            if entry.isreg():
                kept[entry.name] = content = (tar.extractfile(entry) or io.BytesIO()).read()
                yield entry, content
            elif entry.islnk():  # another name of a file: a file of its own here
                entry.type, entry.size = tarfile.REGTYPE, len(kept.get(entry.linkname, b""))
                yield entry, kept.get(entry.linkname, b"")
            elif entry.isdir() or entry.issym():
                yield entry, b""


def _named(entry: tarfile.TarInfo, path: str, *, folder: bool) -> tarfile.TarInfo:
    entry.name = path.lstrip("/")
    entry.uid = entry.gid = NOBODY
    entry.uname = entry.gname = ""
    entry.pax_headers = {}
    if folder:
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    elif entry.isreg():
        entry.mode = entry.mode & 0o777 | 0o600
    return entry


def _packed(members: _Members) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
