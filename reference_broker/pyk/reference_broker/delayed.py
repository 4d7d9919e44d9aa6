"""Delayed operations: requests that wait for partitions to move, with a deadline.

A produce with acks=all waits until the high watermarks have passed its batches, a fetch until there
is enough to read. Each waits under the keys of all partitions it cares about. When a partition
moves, its key is checked, and every request that can be answered is answered at once; at the
deadline the rest is answered with what is available. A bug in one operation does not affect the
others, or the code that moved the partition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from pyk.runtime.timers import TimerQueue

log = logging.getLogger(__name__)


class DelayedOperation(Protocol):
    """One waiting request."""

    def try_complete(self) -> bool:
        """Answer if everything that the request waits for is available; return whether it was."""

    def expire(self) -> None:
        """Answer with what is available."""

    def fail(self) -> None:
        """Answer that the server failed, after an unexpected error."""


class Purgatory:
    """All delayed operations of one kind, by what they wait for."""

    def __init__(self, name: str, timers: TimerQueue) -> None:
        self._name = name
        self._timers = timers
        self._watchers: dict[Hashable, dict[int, DelayedOperation]] = {}
        self._keys: dict[int, tuple[Hashable, ...]] = {}
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._keys)

    def watch(self, operation: DelayedOperation, keys: Iterable[Hashable], deadline: float) -> int:
        """Watch ``keys`` for an operation that cannot be answered now.

        Return the id to forget it by.
        """
        self._last_id += 1
        operation_id = self._last_id
        self._keys[operation_id] = tuple(dict.fromkeys(keys))
        for key in self._keys[operation_id]:
            self._watchers.setdefault(key, {})[operation_id] = operation
        self._timers.schedule(
            (self._name, operation_id), deadline, lambda _: self._expire(operation_id, operation)
        )
        return operation_id

    def check(self, *keys: Hashable) -> int:
        """Try, once each, the operations that wait for any of ``keys``; return how many were
        answered.

        A try looks at everything that an operation waits for, so it is not tried for each key.
        """
        operations: dict[int, DelayedOperation] = {}
        for key in keys:
            operations.update(self._watchers.get(key, {}))
        completed = 0
        for operation_id, operation in operations.items():
            # An answer may run into others, so this one may be gone by now.
            if operation_id in self._keys and self._run(operation, operation.try_complete):
                self.forget(operation_id)
                completed += 1
        return completed

    def forget(self, operation_id: int) -> None:
        """Stop watching for an operation; do not answer it."""
        for key in self._keys.pop(operation_id, ()):
            watchers = self._watchers[key]
            del watchers[operation_id]
            if not watchers:
                del self._watchers[key]
        self._timers.cancel((self._name, operation_id))

    def _expire(self, operation_id: int, operation: DelayedOperation) -> None:
        self.forget(operation_id)
        self._run(operation, operation.expire)

    def _run(self, operation: DelayedOperation, step: Callable[[], bool | None]) -> bool:
        """Return whether a step answered the request; one with an unexpected error does."""
        try:
            return bool(step())
        except Exception:
            log.exception("A delayed %s failed because of a bug in pyk", self._name)
            self._fail(operation)
            return True

    def _fail(self, operation: DelayedOperation) -> None:
        try:
            operation.fail()
        except Exception:  # affects neither other operations nor the cause of this check
            log.exception("Could not answer a delayed %s that failed", self._name)
