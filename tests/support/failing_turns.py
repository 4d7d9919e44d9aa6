"""Turns of the event loop of a blocking client that run out of memory."""

from __future__ import annotations

from pyk.clients.engine.thread import LoopThread


def fail_turns(thread: LoopThread, count: int) -> None:
    """Let the next turns of the loop run out of memory."""
    assert thread.loop is not None
    thread.loop._ready.extend(BrokenHandle() for _ in range(count))  # type: ignore[attr-defined]


class BrokenHandle:
    """What is in the queue of the loop, and fails before its callback is called."""

    @property
    def _cancelled(self) -> bool:
        raise MemoryError("no more")
