"""Containers of images of others, and what an agent left in one carried into another as data."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.sandbox import SandboxRefusal, SandboxRuined
from environments.sandboxes.containers import DockerSandbox, DockerSandboxes

Entry = Mapping[str, Any]
"""A path with its `kind` (`file`, `folder`, `link`, `gone`), and `content` (Base64) and `mode`, or `target`."""


@dataclass(frozen=True)
class Left:
    """What an agent left."""

    entries: tuple[Entry, ...]
    """By path."""
    skipped: tuple[str, ...]
    """What cannot be carried, with the reason."""


class StandingSandbox(DockerSandbox):
    """A container whose folders are filled from its image whenever it is restored."""

    def changed(self, paths: Sequence[str] = (), *, whole: bool = False) -> Left:
        """What differs from the image at these paths and below (none: wherever there may be files), or all of it.

        Raises:
            SandboxRuined: it is more than the limits allow.
        """
        limits, layout = self.sandboxes.limits, self.sandboxes.layout
        asked = list(paths or layout.places)
        try:
            found = self.ask(
                "changed", paths=asked, whole=whole, most_each=limits.file_kb << 10, most_all=limits.collected_kb << 10,
                most_entries=limits.files // 2,
            )  # fmt: skip
        except SandboxRefusal as refusal:
            raise SandboxRuined(f"what was left cannot be collected: {refusal.code}") from refusal
        return Left(tuple(sorted(found["entries"], key=lambda e: str(e["path"]))), tuple(found["skipped"]))

    def apply(self, entries: Sequence[Entry]) -> None:
        """Make in this container what was left in another.

        Raises:
            SandboxRefusal: it does not fit, or has no place here.
        """
        self.ask("apply", entries=[dict(entry) for entry in entries])

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files of ours by their whole path; scripts can be run.

        Raises:
            SandboxRefusal: they do not fit, or have no place here.
        """
        self.ask("put", given={path: base64.b64encode(content).decode() for path, content in files.items()})


class StandingSandboxes(DockerSandboxes):
    """Where they come from."""

    def open(self) -> StandingSandbox:
        """A container of one's own, started when it is first used.

        Raises:
            SandboxError: there is no engine, or it has no such image.
        """
        return StandingSandbox(self, self.present_image)
