"""Child processes that never outlive whoever started them."""

import ctypes
import signal
import sys
from typing import Final

_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Ask the system to end this process when its parent is gone, also when that was killed outright (Linux)."""
    if _LIBC is not None:
        _LIBC.prctl(_DIE_WITH_PARENT, signal.SIGTERM)
