"""What the storage of a broker is given: time, randomness, and what waits for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from pyk.reference_broker.storage.disk import Disk
from pyk.runtime import slotted
from pyk.runtime.clock import Clock

if TYPE_CHECKING:
    from random import Random


@slotted.frozen
class StorageEnvironment:
    """The clock, random source and disk of all logs of a broker."""

    clock: Clock
    random: Random
    disk: Disk

    def new_id(self) -> UUID:
        """Return a new random id."""
        return UUID(int=self.random.getrandbits(128), version=4)
