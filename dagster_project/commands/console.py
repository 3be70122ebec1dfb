"""How commands speak: plain lines to standard output; one clear line and a non-zero exit for a user's mistake."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from environments.answers import AnswersError
from environments.gate.store import FindingsError
from environments.sandbox import SandboxError
from environments.transport import EndpointUnusable
from resources.lake import LakeError

OUTSIDE = (LakeError, AnswersError, FindingsError, EndpointUnusable, SandboxError, OSError)
"""What a user's machine or server does: the command was right."""
PATHS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
"""What comes of a path that is not what it should be."""


def say(line: str = "") -> None:
    """Print one line at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def warn(line: str) -> None:
    """Print one line to standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextmanager
def clear_errors() -> Iterator[None]:
    """Show a mistake as its message instead of a traceback; faults of ours keep their traceback."""
    try:
        yield
    except (ValueError, *OUTSIDE) as error:
        warn(f"loopwright: {error}")
        raise typer.Exit(2 if isinstance(error, (ValueError, *PATHS)) else 1) from error
