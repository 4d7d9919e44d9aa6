"""A record that cannot be appended yet, and the steps until it is. Pure."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.budget import RoomRequest, record_size
from pyk.clients.producer.batching.delivery import Delivery
from pyk.clients.producer.batching.waits import MetadataWait, RoomWait, Steps
from pyk.runtime.clock import Clock


@attrs.frozen
class WaitingRecord:
    """A record, serialized, whose ``send`` has to wait for room or metadata."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    headers: Headers
    timestamp: int

    @property
    def size(self) -> int:
        """The number of bytes of the budget that it takes."""
        return record_size(self.key, self.value, self.headers)


Append = Callable[[WaitingRecord, RoomRequest | None], Delivery | None]
"""Appends a record with the room that was granted for it; None if it has to wait."""


class RecordSend:
    """Sends a record that has to wait; ``max_block`` is how long it may, in seconds."""

    def __init__(self, accumulator: RecordAccumulator, clock: Clock, max_block: float) -> None:
        self._accumulator = accumulator
        self._clock = clock
        self._max_block = max_block

    def steps(self, append: Append, record: WaitingRecord) -> Steps[Delivery]:
        """Append a record once that is possible, yielding each wait, and return its delivery."""
        deadline = self._clock.now() + self._max_block
        room = RoomRequest(record.size)
        try:
            while True:
                delivery = append(record, room if room.is_granted else None)
                if delivery is not None:
                    return delivery
                self._accumulator.check_accepting()
                if self._accumulator.lacks(record.topic, record.partition):
                    yield MetadataWait(record.topic, record.partition, deadline)
                elif not room.is_granted:
                    yield RoomWait(room, deadline)
        finally:
            self._accumulator.waits.cancel_room(room)
