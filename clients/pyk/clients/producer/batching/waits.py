"""The waits of an application before its records are in the buffer, as steps. Pure.

A generator of :data:`Steps` yields each wait and is resumed when that is over; an error that ends a
wait is thrown into it. The producers drive it, in a thread or in a task.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from pyk.clients.producer.batching.budget import RoomRequest
from pyk.runtime import slotted

R = TypeVar("R")


@slotted.frozen
class MetadataWait:
    """Wait until metadata has the topic, with this partition if one is named."""

    topic: str
    partition: int | None
    deadline: float


@slotted.frozen
class RoomWait:
    """Wait until this room in the buffer is granted."""

    room: RoomRequest
    deadline: float


Wait = MetadataWait | RoomWait
Steps = Generator[Wait, None, R]
