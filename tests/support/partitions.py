"""A partition of a broker, without the broker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.reference_broker.partition import Partition
from support.logs import ORDERS, open_log

NODE = 1


def led_partition(leader_epoch: int = 0, **config: Any) -> Partition:
    """Return ``ORDERS`` as led by ``NODE``; ``config`` holds attributes of ``LogConfig``."""
    partition = Partition(ORDERS, UUID(int=1), NODE, open_log(**config))
    partition.become_leader(leader_epoch, (NODE,), (NODE,))
    return partition
