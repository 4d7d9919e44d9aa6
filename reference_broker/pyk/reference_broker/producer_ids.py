"""Producer ids, handed out of blocks that the controller gives each broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyk.protocol.errors import ErrorCode

from .controller.shard import ControllerShard
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred

R = TypeVar("R")


class ProducerIds:
    """Hands out ids; what is left of a block at the end of a broker is never used."""

    def __init__(
        self, controller: ShardRuntime[ControllerShard], node_id: int, broker_epoch: int
    ) -> None:
        self._controller = controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._next = 0
        self._end = 0

    def next_id(
        self, answer: Callable[[int], R], on_error: Callable[[ErrorCode], R]
    ) -> R | Deferred[R]:
        """Return the answer with a new id, later if a block has to be fetched first."""
        if self._next < self._end:
            return answer(self._take())
        deferred: Deferred[R] = Deferred()

        def use(block: range | ErrorCode) -> None:
            if not isinstance(block, range):
                deferred.complete(on_error(block))
                return
            if self._next >= self._end:
                self._next, self._end = block.start, block.stop
            deferred.complete(answer(self._take()))

        fetched: Deferred[range | ErrorCode] = self._controller.ask(
            lambda shard, _: shard.allocate_producer_ids(self._node_id, self._broker_epoch),
            lambda code: code,
        )
        fetched.when_done(use)
        return deferred

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
