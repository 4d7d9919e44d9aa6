"""The requests of a broker that wait for partitions to move, and when they are checked."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyk.protocol.topics import TopicPartition
from pyk.runtime.timers import TimerQueue

from .coordinator.shards import Shards
from .delayed import Purgatory
from .moved import MovedPartitions

log = logging.getLogger(__name__)


class WaitingRequests:
    """Delayed produces and fetches, and what waits inside of shards."""

    def __init__(
        self, timers: TimerQueue, call_soon: Callable[[Callable[[], None]], object], shards: Shards
    ) -> None:
        self.timers = timers
        self.produces = Purgatory("produce", timers)
        self.fetches = Purgatory("fetch", timers)
        self.share_fetches = Purgatory("share fetch", timers)
        self.moved = MovedPartitions(self._check, call_soon)
        self._shards = shards

    def _check(self, names: list[TopicPartition]) -> None:
        for name in names:
            if name.topic in self._shards.kinds:
                try:
                    self._shards.high_watermark_moved(name)
                except Exception:  # affects neither other partitions nor the cause of this move
                    log.exception("Could not check the requests that wait for %s", name)
        self.produces.check(*names)
        self.fetches.check(*names)
        self.share_fetches.check(*names)
