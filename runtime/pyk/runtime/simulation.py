"""A simulated world: hosts with a clock, a network, a disk and randomness of their own.

    async def main():
        async with AsyncCluster() as cluster:  # on a host called "kafka"
            await application(cluster.bootstrap)  # on a host called "app"

    World(seed=1).run(main())

Clients and clusters that are given no clock, network and randomness use those of the host that the
code around them runs on: :meth:`World.run` begins on ``"app"``, ``with world.host("shop"):`` moves
its block to another one. ``**world.host("shop").client_options`` names the host of one client.

Everything comes from the seed and from virtual time, so that a run can be repeated exactly. What
goes wrong is up to the test: ``world.network`` cuts and delays links between hosts by their names,
a host's ``clock`` can be wrong, its ``disk`` can lose power.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Token
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from pyk.runtime import slotted
from pyk.runtime.checked_arguments import (
    checked_finite,
    checked_int,
    checked_number,
    checked_text,
)
from pyk.runtime.current_host import CURRENT_HOST, ProgramHost
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.network.memory import MemoryHost, MemoryNetwork
from pyk.runtime.network.memory_transport import Observer
from pyk.runtime.virtual_time import VirtualClock, current_clock, run_virtual
from pyk.runtime.wrong_twin import BlockingBlock

R = TypeVar("R")

APPLICATION = "app"
CLUSTER = "kafka"


class HostClock:
    """The clocks of one host; implements :class:`~pyk.runtime.clock.Clock`.

    Its wall clock may be wrong. Its monotonic clock is that of the event loop, on which all hosts
    set their timers: what it is off by in reality, millionths, no timeout would notice.
    """

    def __init__(self, true_clock: VirtualClock) -> None:
        self.now: Callable[[], float] = true_clock.now
        self.advance: Callable[[float], None] = true_clock.advance
        """Let time pass while a host does nothing, such as waiting for its disk."""
        self._true_clock = true_clock
        self._seconds_ahead = 0.0
        self._drift = 0.0
        self._drifts_since = 0.0

    def time_ms(self) -> int:
        ahead = self.seconds_ahead
        return self._true_clock.time_ms() + (round(ahead * 1000) if ahead else 0)

    @property
    def seconds_ahead(self) -> float:
        """The seconds that the wall clock is ahead of the true time, negative if behind."""
        if not self._drift:
            return self._seconds_ahead
        drifted_for = self._true_clock.now() - self._drifts_since
        return self._seconds_ahead + self._drift * drifted_for

    def step(self, seconds: float) -> None:
        """Set the wall clock forward, or backward, as an administrator or NTP does."""
        self._seconds_ahead += checked_finite(seconds, "seconds")

    def set_drift(self, rate: float) -> None:
        """Let the wall clock gain ``rate`` seconds in each second from now on, or lose them."""
        checked_finite(rate, "rate")
        self._seconds_ahead = self.seconds_ahead
        self._drifts_since = self._true_clock.now()
        self._drift = rate


@slotted.frozen(kw_only=True, eq=False)
class Host(BlockingBlock):
    """A machine of the world. Programs on it share its clock, network, disk and randomness.

    As a context manager it is where the code of its block runs.
    """

    name: str
    clock: HostClock
    network: MemoryHost
    disk: MemoryFileSystem
    random: Random
    for_cluster: Callable[[], Host]
    """Return a host of its own for a cluster that is made here."""
    _left: list[Token[ProgramHost | None]] = slotted.field(factory=list)

    def __enter__(self) -> Self:
        self._left.append(CURRENT_HOST.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        CURRENT_HOST.reset(self._left.pop())

    @property
    def client_options(self) -> dict[str, Any]:
        """Keyword arguments for a client that runs on this host."""
        return {"clock": self.clock, "network": self.network, "random": self.random}

    @property
    def environment(self) -> dict[str, Any]:
        """Keyword arguments for a program that also keeps files, such as a broker."""
        return {**self.client_options, "filesystem": self.disk}

    def cut_power(self) -> None:
        """Let the disk lose a random part of what is not flushed; kill the programs before."""
        self.disk.crash(loses_unflushed=True, random=self.random)


class World:
    """Hosts by name on one network, in virtual time: its own, or that of the running event loop.

    ``latency`` is the seconds that data take from host to host. ``observe(source, target, data)``
    is called whenever a host sends data.
    """

    def __init__(
        self, seed: int = 0, *, latency: float = 0.0, observe: Observer | None = None
    ) -> None:
        self.seed = checked_int(seed, "seed")
        checked_number(latency, "latency")
        if observe is not None and not callable(observe):
            raise TypeError(f"observe must be a function of source, target, data, not {observe!r}")
        has_loop = asyncio._get_running_loop() is not None
        self.clock = current_clock() if has_loop else VirtualClock()
        self.network = MemoryNetwork(latency=latency, observe=observe)
        self._hosts: dict[str, Host] = {}
        self._clusters = 0

    def run(self, main: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine to its end in virtual time, on the host ``"app"``; return its result."""
        with self.host(APPLICATION):
            return run_virtual(main, self.clock)

    def _host_of_cluster(self) -> Host:
        self._clusters += 1
        return self.host(CLUSTER if self._clusters == 1 else f"{CLUSTER}-{self._clusters}")

    def host(self, name: str) -> Host:
        """Return the host of this name, the same one each time."""
        if not checked_text(name, "the name of a host"):
            raise ValueError("the name of a host is empty")
        host = self._hosts.get(name)
        if host is None:
            clock = HostClock(self.clock)
            # A str seeds by its characters, whatever PYTHONHASHSEED is, and each host apart.
            random = Random(f"{self.seed} {name}")  # noqa: S311 - a test, not a secret
            host = self._hosts[name] = Host(
                name=name,
                clock=clock,
                network=self.network.host(name),
                disk=MemoryFileSystem(clock.time_ms),
                random=random,
                for_cluster=self._host_of_cluster,
            )
        return host
