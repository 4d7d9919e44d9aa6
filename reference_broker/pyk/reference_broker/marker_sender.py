"""Sends the markers of a transaction to the leaders of its partitions until all are written.

A leader that cannot write now, cannot be reached, or has moved is asked again a little later, by
the metadata as they are then. There is no end to that: the outcome is decided.
"""

from __future__ import annotations

import logging
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition

from .coordinator.shard_kind import BrokerEnvironment
from .coordinator.transaction.markers import (
    NO_LEADER,
    LeaderAnswer,
    MarkersToWrite,
    by_leader,
    read_answer,
    request_for,
)
from .deferred import Deferred, gather

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
        """Return the result once all partitions that still exist have their marker."""
        result: Deferred[ErrorCode] = Deferred()
        self._ask_leaders(markers, markers.partitions, result)
        return result

    def _ask_leaders(
        self,
        markers: MarkersToWrite,
        partitions: frozenset[TopicPartition],
        result: Deferred[ErrorCode],
    ) -> None:
        leaders = by_leader(self._image, partitions)
        asked = [self._ask(leader, markers, names) for leader, names in leaders.items()]

        def answered(answers: list[LeaderAnswer]) -> None:
            for answer in answers:
                if answer.fenced:
                    result.complete(answer.fenced)
                    return
            again = frozenset[TopicPartition]().union(*(answer.again for answer in answers))
            if again:
                self._ask_later(markers, again, result)
            else:
                result.complete(ErrorCode.NONE)

        gather(asked).when_done(answered)

    def _ask(
        self, leader: int, markers: MarkersToWrite, names: frozenset[TopicPartition]
    ) -> Deferred[LeaderAnswer]:
        if leader == NO_LEADER:
            nobody: Deferred[LeaderAnswer] = Deferred()
            nobody.complete(LeaderAnswer(names))
            return nobody
        response: Deferred[Any] = self._channels.send(leader, request_for(markers, names))
        return response.then(lambda found: read_answer(found, names))

    def _ask_later(
        self,
        markers: MarkersToWrite,
        again: frozenset[TopicPartition],
        result: Deferred[ErrorCode],
    ) -> None:
        log.debug("Markers of %r: %d partitions left", markers.transactional_id, len(again))
        self._last_id += 1
        deadline = self._moment().after(RETRY_MS)
        self._timers.schedule(
            (self, self._last_id), deadline, lambda _: self._ask_leaders(markers, again, result)
        )
