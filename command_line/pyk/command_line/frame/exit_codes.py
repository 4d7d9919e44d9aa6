"""The exit codes of all commands. Pure."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """How a command ended, for scripts."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """The command line or the configuration is wrong."""
    UNREACHABLE = 3
    """No broker could be reached, or the connection was lost."""
    INTERRUPTED = 130
    """Ctrl-C, as shells have it."""
