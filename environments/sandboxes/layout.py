"""Where things lie in a container: the work folder, what of it the image brings along, and which Python the worker has.

The plain layout is one empty work folder in an image that has `python3`. Images of others need another one: folders
that they bring along and that an agent may change, and a Python of ours beside them, in a volume that nothing in the
container can write to.
"""

from dataclasses import dataclass
from typing import Any, Final

from environments.sandbox import Limits

NOBODY: Final = 65534
PYTHON: Final = "/.loopwright/runtime"
"""Where the volume with our Python stands."""


@dataclass(frozen=True)
class Layout:
    """The folders of one kind of container."""

    work: str = "/work"
    """Where commands run."""
    places: tuple[str, ...] = ()
    """Folders that are filled from the image and may be changed."""
    empty: tuple[str, ...] = ("/work",)
    """Folders that begin empty and may be changed."""
    environment: tuple[tuple[str, str], ...] = ()
    """What commands find in their environment beside the usual."""
    python: str = ""
    """Name of the volume with our Python; empty: the image has one."""
    start: tuple[str, ...] = ("python3",)
    """Command that starts Python."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Every folder that files may be written to, but for /tmp."""
        return (*self.places, *self.empty)

    def mounts(self, limits: Limits) -> dict[str, str]:
        """The folders in memory, each with a size and a number of files."""
        own = f"rw,nosuid,nodev,uid={NOBODY},gid={NOBODY},mode=700,nr_inodes={limits.files},size={limits.work_mb}m"
        programs = ",exec" if self.python else ""  # tasks of others build what they run in /tmp
        return {**{root: f"{own},exec" for root in self.roots}, "/tmp": own + programs}

    def settings(self, idle_s: float) -> dict[str, Any]:
        """What the worker is told at its start."""
        places = {"work": self.work, "roots": list(self.roots), "places": list(self.places)}
        return {"idle_s": idle_s, **places, "environment": dict(self.environment)}
