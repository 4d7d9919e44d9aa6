"""The advice for a process that has no file descriptor left. Pure."""

from __future__ import annotations

import errno

HINT = "this process has too many open files: raise its limit (ulimit -n), or close some"


def are_too_many(error: BaseException) -> bool:
    """Return whether an error means that there is no file descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
