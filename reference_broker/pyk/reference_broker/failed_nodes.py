"""The nodes of a cluster that have stopped because their disks failed."""

from __future__ import annotations

import asyncio
import logging

from .broker import Broker
from .storage import StorageError

log = logging.getLogger(__name__)


class FailedNodes:
    """Ends nodes that cannot go on, and remembers why. Belongs to the event loop of the cluster.

    Apache Kafka halts; a node of a cluster may be part of the process that tests it.
    """

    def __init__(self) -> None:
        self._failures: dict[int, StorageError] = {}
        self._ending: list[asyncio.Task[None]] = []
        self._waiter: asyncio.Future[StorageError] | None = None

    def end(self, node: int, broker: Broker, error: StorageError) -> None:
        """Kill a node, and tell ``first``; log the error if nobody waits there."""
        failure = self._failures[node] = StorageError(f"node {node} has stopped: {error}")
        self._ending.append(asyncio.get_running_loop().create_task(broker.kill()))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(failure)
        else:
            log.error("%s", failure)

    async def ended(self) -> None:
        """Wait until what the nodes had open is closed."""
        while self._ending:
            await self._ending.pop()

    async def first(self) -> StorageError:
        """Wait until a node fails, and return why."""
        for failure in self._failures.values():
            return failure
        self._waiter = asyncio.get_running_loop().create_future()
        return await self._waiter

    def started(self, node: int) -> None:
        """Forget that a node has failed."""
        self._failures.pop(node, None)

    def why(self, node: object) -> str:
        """Return why a node has stopped, nothing if it did not fail."""
        return "".join(str(error) for each, error in self._failures.items() if each == node)
