"""The host that programs run on unless they are given a clock, network and randomness.

Outside of a simulated world that is this machine. In one, ``World.run`` and ``with host:`` set the
host for the code inside, so that an application needs no arguments to run there.
"""

from __future__ import annotations

from contextvars import ContextVar
from random import Random
from typing import TYPE_CHECKING, Protocol

from pyk.runtime.clock import Clock
from pyk.runtime.network import Network

if TYPE_CHECKING:
    from pyk.runtime.filesystem import FileSystem


class ProgramHost(Protocol):
    """What a program uses of the host that it runs on."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def random(self) -> Random: ...
    @property
    def disk(self) -> FileSystem: ...

    def for_cluster(self) -> ProgramHost:
        """Return a host of its own for a cluster that is made here."""
        ...


CURRENT_HOST: ContextVar[ProgramHost | None] = ContextVar("pyk host", default=None)


def current_host() -> ProgramHost | None:
    """Return the simulated host of the running code, None for this machine."""
    return CURRENT_HOST.get()
