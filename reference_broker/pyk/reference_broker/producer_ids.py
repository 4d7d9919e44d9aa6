"""Producer ids, handed out of blocks that the controller gives each broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyk.protocol.errors import ErrorCode

from .controller_channel import ControllerChannel
from .deferred import Deferred

if TYPE_CHECKING:
    from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

R = TypeVar("R")


class ProducerIds:
    """Hands out ids; what is left of a block at the end of a broker is never used."""

    def __init__(self, controller: ControllerChannel, node_id: int) -> None:
        self.broker_epoch = -1
        """The epoch that the broker registered in, -1 before it has."""
        self._controller = controller
        self._node_id = node_id
        self._next = 0
        self._end = 0

    def next_id(
        self, answer: Callable[[int], R], on_error: Callable[[ErrorCode], R]
    ) -> R | Deferred[R]:
        """Return the answer with a new id, later if a block has to be fetched first."""
        if self._next < self._end:
            return answer(self._take())

        def use(block: AllocateProducerIdsResponse) -> R:
            if block.error_code:
                return on_error(ErrorCode(block.error_code))
            if self._next >= self._end:
                self._next = block.producer_id_start
                self._end = self._next + block.producer_id_len
            return answer(self._take())

        return self._fetch_block().then(use)

    def _fetch_block(self) -> Deferred[AllocateProducerIdsResponse]:
        from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest

        request = AllocateProducerIdsRequest(
            broker_id=self._node_id, broker_epoch=self.broker_epoch
        )
        return self._controller.send(request)

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
