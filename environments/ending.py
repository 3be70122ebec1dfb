"""What ends a run: a failure that every later attempt would meet again, and that no attempt can bring about."""

import errno
from typing import Final

_OF_THE_MACHINE: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
)


class EndsTheRun(RuntimeError):
    """Money, a key or an address is wrong or used up: to go on would only write down attempts without a result."""


def ends_the_run(error: BaseException) -> bool:
    """Whether `error` says that the run is at its end: of that kind, or the machine has no room, memory or files."""
    if isinstance(error, OSError):
        return error.errno in _OF_THE_MACHINE
    return isinstance(error, EndsTheRun)
