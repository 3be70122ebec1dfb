"""Images from somebody else's Dockerfile, built by the engine without a network from what it already has.

A Dockerfile is a program, and its RUN lines run as root: they get no network, a bound on memory and time, and the
rights that the engine gives to builds. Whoever imports a task runs it.
"""

import hashlib
import io
import re
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from environments.sandbox import SandboxError
from environments.sandboxes.engine import Engine, engine_errors

REPOSITORY: Final = "loopwright-built"
_FROM: Final = re.compile(r"(?im)^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?")
_ARG: Final = re.compile(r"(?im)^\s*ARG\s+(\w+)=(\S+)")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
_SHOWN: Final = 400


class ImageError(ValueError):
    """An image cannot be made or used as a task asks for: the task is at fault, or nobody is."""


class MissingImage(SandboxError):
    """The engine lacks an image that it could have: nothing is known about the task."""


@dataclass(frozen=True)
class BuildLimits:
    """What building an image may use."""

    seconds: float = 600.0
    memory_mb: int = 2048


def bases_of(dockerfile: str) -> list[str]:
    """The images that a Dockerfile builds on, its own stages left out.

    Raises:
        ImageError: it names none, or by a variable without a value.
    """
    values = dict(_ARG.findall(dockerfile))
    stages: set[str] = {"scratch"}
    found: list[str] = []
    for match in _FROM.finditer(dockerfile):
        name = _VARIABLE.sub(lambda m: values.get(m[1] or m[3], m[2] or ""), match[1]).strip("\"'")
        if not name:
            raise ImageError(f"environment/Dockerfile names its base by a variable without a value: {match[0].strip()}")
        found += [name] if name.casefold() not in stages else []
        stages |= {match[2].casefold()} if match[2] else set()
    if not _FROM.search(dockerfile):
        raise ImageError("environment/Dockerfile has no FROM line")
    return list(dict.fromkeys(found))


def image_id(engine: Engine, name: str) -> str:
    """The id of an image that the engine has: a hash of its content and settings.

    Raises:
        MissingImage: it has none of that name; nothing is fetched from a registry here.
        SandboxError: the engine failed.
    """
    from docker.errors import ImageNotFound, NullResource

    with engine_errors(f"look for the image {name!r}"):
        try:
            return str(engine.client.images.get(name).id)
        except (ImageNotFound, NullResource):
            raise MissingImage(
                f"the engine has no image {name!r}, and none is fetched here: docker pull {name} where there is a "
                f"registry, or docker load / docker import it, then run this again"
            ) from None


def build(engine: Engine, context: Mapping[str, bytes], limits: BuildLimits) -> str:
    """Build an image, unless it is there; returns its name, which its files and bases decide.

    Args:
        engine: builds it.
        context: files by path, `Dockerfile` among them.
        limits: of the build.

    Raises:
        ImageError: the Dockerfile cannot be built so; the message has the last that the engine said.
        MissingImage: a base image is not there.
        SandboxError: the engine failed.
    """
    bases = [(name, image_id(engine, name)) for name in bases_of(context["Dockerfile"].decode(errors="replace"))]
    digest = hashlib.blake2b(repr((bases, sorted(context.items()))).encode(), digest_size=8).hexdigest()
    name = f"{REPOSITORY}:{digest}"
    if is_there(engine, name):
        return name
    with engine_errors("build an image"):
        said = engine.client.api.build(
            fileobj=io.BytesIO(_packed(context)), custom_context=True, tag=name, rm=True, forcerm=True, decode=True,
            network_mode="none", container_limits=_bounds(limits), timeout=max(60, int(limits.seconds)),
        )  # fmt: skip
        _follow(said, limits.seconds)
    return name


def _bounds(limits: BuildLimits) -> dict[str, Any]:
    return {"memory": limits.memory_mb << 20, "memswap": limits.memory_mb << 20}


def is_there(engine: Engine, name: str) -> bool:
    """Whether the engine has an image."""
    try:
        image_id(engine, name)
    except MissingImage:
        return False
    return True


def _packed(context: Mapping[str, bytes]) -> bytes:
    """The context as the engine takes it; scripts can be run, as they could where the folder came from."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in sorted(context.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _follow(said: Iterator[dict[str, Any]], seconds: float) -> None:
    """Listen to a build until it ends; one that takes too long is hung up on, which stops it."""
    until, lines, failed = time.monotonic() + seconds, "", ""
    for line in said:
        lines = (lines + str(line.get("stream", "")))[-_SHOWN:]
        failed = failed or (_last(lines, line) if "error" in line else "")
        if time.monotonic() > until:
            raise ImageError(f"environment/Dockerfile was not built within {seconds:g} s")
    if failed:
        raise ImageError(f"environment/Dockerfile cannot be built without a network here: {failed}")


def _last(lines: str, line: Mapping[str, Any]) -> str:
    """The end of what the build printed, and why it ended."""
    return " ".join(f"{lines} {line['error']}".split())[-_SHOWN:]
