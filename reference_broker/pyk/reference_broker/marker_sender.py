"""Sends the markers of a transaction to the leaders of its partitions until all are written.

A leader that cannot write now, cannot be reached, or has moved is asked again a little later, by
the metadata as they are then. There is no end to that: the outcome is decided.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.runtime import slotted

from .coordinator.shard_kind import BrokerEnvironment
from .coordinator.transaction.markers import (
    NO_LEADER,
    MarkersToWrite,
    by_leader,
    read_answer,
    request_for,
)
from .deferred import Deferred

log = logging.getLogger(__name__)

RETRY_MS = 100


class MarkerSender:
    """Carries out :class:`MarkersToWrite`; the result is NONE, or why there will be no markers."""

    def __init__(self, environment: BrokerEnvironment) -> None:
        self._channels = environment.channels
        self._image = environment.image
        self._timers = environment.timers
        self._moment = environment.moment
        self._last_id = 0

    def write(self, markers: MarkersToWrite) -> Deferred[ErrorCode]:
        """Return the result once all partitions that still exist have their marker.

        Nobody is asked any more when the result is abandoned: the shard of the transaction is led
        elsewhere.
        """
        sending = _Sending(markers, set(markers.partitions), Deferred())
        self._ask_leaders(sending, markers.partitions)
        return sending.result

    def _ask_leaders(self, sending: _Sending, partitions: frozenset[TopicPartition]) -> None:
        """Ask each leader on its own: a silent one must not hold the others up."""
        if sending.result.is_done:
            return
        leaders = by_leader(self._image, partitions)
        sending.forget(partitions.difference(*leaders.values()))
        for leader, names in leaders.items():
            if leader == NO_LEADER:
                self._ask_later(sending, names)
            else:
                response: Deferred[Any] = self._channels.send(
                    leader, request_for(sending.markers, names)
                )
                response.when_done(partial(self._answered, sending, names))

    def _answered(self, sending: _Sending, names: frozenset[TopicPartition], found: Any) -> None:
        answer = read_answer(found, names)
        if answer.fenced:
            sending.result.complete(answer.fenced)
            return
        sending.forget(names - answer.again)
        if answer.again:
            self._ask_later(sending, answer.again)

    def _ask_later(self, sending: _Sending, again: frozenset[TopicPartition]) -> None:
        log.debug("Markers of %r: %d partitions left", sending.markers.transactional_id, len(again))
        self._last_id += 1
        deadline = self._moment().after(RETRY_MS)
        self._timers.schedule(
            (self, self._last_id), deadline, lambda _: self._ask_leaders(sending, again)
        )


@slotted.frozen
class _Sending:
    """The markers of a transaction, and the partitions that do not have theirs yet."""

    markers: MarkersToWrite
    left: set[TopicPartition]
    result: Deferred[ErrorCode]

    def forget(self, done: frozenset[TopicPartition]) -> None:
        """Note the partitions that have their marker, or that exist no longer."""
        self.left.difference_update(done)
        if not self.left:
            self.result.complete(ErrorCode.NONE)
