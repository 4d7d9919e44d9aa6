"""Real seconds, threads and processes, for tests of clients on sockets.

What needs none of these runs in virtual time.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyk.clients.errors import KafkaError

# Below every default timeout, far above what a busy machine takes: it did not hang.
IN_TIME = 25


def took(function: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    before = time.monotonic()
    function()
    return time.monotonic() - before


def eventually(condition: Callable[[], bool], timeout: float = 45) -> None:
    """Wait until a condition holds; fail if that never happens."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.02)


@contextmanager
def called_by_many_threads(
    calls: Sequence[Callable[[], object]], *, turns: int | None = None
) -> Iterator[list[BaseException]]:
    """Let 16 threads call all of these in turn meanwhile, and wait for their end.

    Without a number of ``turns`` they go on until the block ends, and make one more round. Yields a
    list of the exceptions they raised, without KafkaErrors.
    """
    surprises: list[BaseException] = []
    has_ended = threading.Event()

    def turns_of_thread() -> Iterator[int]:
        if turns is not None:
            yield from range(turns)
            return
        yield from itertools.takewhile(lambda _: not has_ended.is_set(), itertools.count())
        yield from range(len(calls))

    def call_in_turn(first: int) -> None:
        for turn in turns_of_thread():
            try:
                calls[(first + turn) % len(calls)]()
            except KafkaError:
                pass
            except BaseException as error:
                surprises.append(error)

    threads = [threading.Thread(target=call_in_turn, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    try:
        yield surprises
    finally:
        has_ended.set()
        for thread in threads:
            thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def left_open_by(use: Callable[[], object], *, times: int) -> tuple[int, int]:
    """Return how many threads and file descriptors more there are after so many uses.

    Those of the first use do not count, and the other ends of sockets get 5 seconds to close.
    """
    use()
    time.sleep(0.1)
    threads, files = threading.active_count(), open_files()
    for _ in range(times):
        use()

    def left_open() -> tuple[int, int]:
        return max(0, threading.active_count() - threads), max(0, open_files() - files)

    deadline = time.monotonic() + 5
    while any(left_open()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left_open()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
