"""A record that cannot be appended yet, and the steps until it is. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.errors import KafkaError
from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.budget import RoomRequest, record_size
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.batching.waits import MetadataWait, RoomWait, Steps
from pyk.runtime import slotted
from pyk.runtime.clock import Clock


@slotted.frozen
class WaitingRecord:
    """A record, serialized, whose ``send`` has to wait for room or metadata."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    headers: Headers
    timestamp: int
    term: int
    """The accumulator's term in which it was sent."""

    @property
    def size(self) -> int:
        """The number of bytes of the budget that it takes."""
        return record_size(self.key, self.value, self.headers)


Append = Callable[[WaitingRecord, RoomRequest], Delivery | None]
"""Appends a record, with its room if that was granted; None if it has to wait."""


class RecordSend:
    """Sends a record that has to wait; ``max_block`` is how long it may, in seconds."""

    def __init__(self, accumulator: RecordAccumulator, clock: Clock, max_block: float) -> None:
        self._accumulator = accumulator
        self._clock = clock
        self._max_block = max_block

    def steps(self, append: Append, record: WaitingRecord) -> Steps[Delivery]:
        """Append a record once that is possible, yielding each wait, and return its delivery."""
        deadline = self._clock.now() + self._max_block
        accumulator, term = self._accumulator, record.term
        room = RoomRequest(record.size, term)
        accumulator.admission.enter(term)
        try:
            while True:
                delivery = append(record, room)
                if delivery is not None:
                    return delivery
                if accumulator.lacks(record.topic, record.partition):
                    yield MetadataWait(record.topic, record.partition, deadline)
                elif not room.is_granted:
                    yield RoomWait(room, deadline)
        except KafkaError as error:
            accumulator.admission.failed(error, term)
            raise
        finally:
            accumulator.waits.cancel_room(room)
            accumulator.admission.leave(term)
