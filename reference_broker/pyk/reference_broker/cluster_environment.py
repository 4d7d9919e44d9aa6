"""The clock, network, disk and randomness of a cluster: those given, a world's, the machine's."""

from __future__ import annotations

from random import Random, SystemRandom

from pyk.runtime.clock import Clock
from pyk.runtime.current_host import current_host
from pyk.runtime.filesystem import FileSystem, OsFileSystem
from pyk.runtime.network import Network, SystemNetwork
from pyk.runtime.system_clock import SystemClock

from .broker import Environment


def environment_of(
    clock: Clock | None,
    network: Network | None,
    filesystem: FileSystem | None,
    random: Random | None,
    *,
    in_memory: bool,
) -> Environment:
    """Return what was given, otherwise what a simulated world has, otherwise the machine's own."""
    here = current_host()
    host = None if here is None else here.for_cluster()
    if host is not None:
        clock, network, random = clock or host.clock, network or host.network, random or host.random
    clock = clock or SystemClock()
    if filesystem is None:
        disk = None if host is None else host.disk
        filesystem = _disk_in_memory(disk, clock) if in_memory else OsFileSystem()
    return Environment(
        clock=clock,
        random=random or SystemRandom(),
        network=network or SystemNetwork(),
        filesystem=filesystem,
    )


def _disk_in_memory(disk: FileSystem | None, clock: Clock) -> FileSystem:
    from pyk.runtime.filesystem.memory import MemoryFileSystem

    return _faulty(disk or MemoryFileSystem(clock.time_ms), clock)


def _faulty(filesystem: FileSystem, clock: Clock) -> FileSystem:
    """Return a disk in memory that fails on demand; in virtual time, time passes while it waits."""
    from pyk.runtime.filesystem.faulty import FaultyFileSystem

    advance = getattr(clock, "advance", None)
    return (
        FaultyFileSystem(filesystem) if advance is None else FaultyFileSystem(filesystem, advance)
    )
