"""The clock, network, disk and randomness of a cluster: those given, a world's, the machine's."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from random import Random, SystemRandom

from pyk.runtime.clock import Clock
from pyk.runtime.current_host import current_host
from pyk.runtime.filesystem import FileSystem, OsFileSystem
from pyk.runtime.network import Network, SystemNetwork
from pyk.runtime.system_clock import SystemClock

from .broker import Environment

MOST_SECONDS_APART = 1.0
"""A clock and a loop that belong together differ by roundings, and a pause of the process."""


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


def check_clock(clock: Clock, loop_time: float) -> None:
    """Raise unless a clock that was passed in is that of the event loop, which has all timers.

    Tools that freeze time freeze that of the loop, too.
    """
    if type(clock) is not SystemClock and abs(clock.now() - loop_time) > MOST_SECONDS_APART:
        raise RuntimeError(
            f"clock={clock!r} is not the clock of this event loop, so nothing would be due in "
            "time: for virtual time run AsyncCluster in World().run(main())"
        )


def paths_of(data_dir: object) -> list[str] | None:
    """Return the folders that were given as ``data_dir``, None for a cluster in memory.

    Raises ``TypeError`` and ``ValueError`` for what is not a path.
    """
    if data_dir is None:
        return None
    several = [data_dir] if isinstance(data_dir, str | PathLike) else data_dir
    given = list(several) if isinstance(several, Iterable) else [several]
    paths = [fspath(each) for each in given if isinstance(each, str | PathLike)]
    if len(paths) < len(given) or not all(isinstance(path, str) for path in paths):
        raise TypeError(f"data_dir must be a path, or a list of paths, not {data_dir!r}")
    for path in paths:
        if not path:
            raise ValueError("data_dir: the name of a folder is empty; '.' is the current one")
        if "\0" in path:
            raise ValueError(f"data_dir: {path!r} has a NUL, which no path has")
    return paths
