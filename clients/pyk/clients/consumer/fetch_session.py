"""The fetch session with one node (KIP-227): tell only what changed since the last fetch. Pure.

The node remembers the partitions of a session and where each is to be read from. Epoch 0 opens a
session and names all partitions; each later request counts the epoch up and names those that are
new, changed, or to be forgotten. A node that keeps no session answers session id 0, and every
request is then complete. Any doubt about the node's memory is settled by opening a new session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from pyk.protocol.schema import ZERO_UUID

NO_SESSION = 0
OPENING_EPOCH = 0
MAX_EPOCH = 2**31 - 1
# Fetch names topics by id from version 13 on.
LAST_VERSION_WITH_TOPIC_NAMES = 12


@attrs.frozen
class WantedPartition:
    """A partition to fetch, and how."""

    offset: int
    max_bytes: int
    leader_epoch: int = -1
    topic_id: UUID = ZERO_UUID


@attrs.frozen(kw_only=True)
class FetchLimits:
    """What a fetch asks for besides partitions."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int = 0
    rack: str = ""


class FetchSession:
    """What one node knows of the partitions that are fetched from it."""

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._told: dict[TopicPartition, WantedPartition] = {}
        # By the number of the topic's id: UUID hashes itself with a Python function.
        self._names: dict[int, str] = {}

    def request(
        self, wanted: Mapping[TopicPartition, WantedPartition], limits: FetchLimits
    ) -> FetchRequest:
        """Return the request that fetches ``wanted`` and nothing else.

        In a complete request the partitions are read in this order until ``max_bytes``.
        """
        if any(self._is_another_topic(partition, wanted) for partition in self._told):
            self.reset()
        changed = {p: how for p, how in wanted.items() if self._told.get(p) != how}
        forgotten = {p: how for p, how in self._told.items() if p not in wanted}
        self._told = dict(wanted)
        self._names = {how.topic_id.int: partition.topic for partition, how in wanted.items()}
        return FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            isolation_level=limits.isolation_level,
            rack_id=limits.rack,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=_fetch_topics(changed),
            forgotten_topics_data=_forgotten_topics(forgotten),
        )

    @property
    def uses_topic_ids(self) -> bool:
        """Tell whether every partition asked for has a topic id, so that none needs its name."""
        return ZERO_UUID.int not in self._names

    def answered(self, response: FetchResponse) -> ErrorCode:
        """Take note of an answer; the code is not NONE if it has no partitions to look at."""
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE or response.session_id == NO_SESSION:
            self.reset()
        elif self._session_id in (NO_SESSION, response.session_id):
            self._session_id = response.session_id
            self._epoch = self._epoch + 1 if self._epoch < MAX_EPOCH else 1
        else:
            self.reset()  # the node answers for somebody else's session
        return code

    def reset(self) -> None:
        """Tell everything anew with the next request."""
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._told = {}

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the topic of an id that was asked for."""
        return self._names.get(topic_id.int)

    def _is_another_topic(
        self, partition: TopicPartition, wanted: Mapping[TopicPartition, WantedPartition]
    ) -> bool:
        """Tell whether a topic was deleted and made again under its name."""
        how = wanted.get(partition)
        return how is not None and how.topic_id != self._told[partition].topic_id


def _fetch_topics(wanted: Mapping[TopicPartition, WantedPartition]) -> list[FetchTopic]:
    topics: dict[tuple[str, UUID], list[FetchPartition]] = defaultdict(list)
    for (topic, partition), how in wanted.items():
        topics[topic, how.topic_id].append(
            FetchPartition(
                partition=partition,
                current_leader_epoch=how.leader_epoch,
                fetch_offset=how.offset,
                partition_max_bytes=how.max_bytes,
            )
        )
    return [
        FetchTopic(topic=topic, topic_id=topic_id, partitions=partitions)
        for (topic, topic_id), partitions in topics.items()
    ]


def _forgotten_topics(
    forgotten: Mapping[TopicPartition, WantedPartition],
) -> list[ForgottenTopic]:
    topics: dict[tuple[str, UUID], list[int]] = defaultdict(list)
    for (topic, partition), how in forgotten.items():
        topics[topic, how.topic_id].append(partition)
    return [
        ForgottenTopic(topic=topic, topic_id=topic_id, partitions=partitions)
        for (topic, topic_id), partitions in topics.items()
    ]


def rotated(partitions: Iterable[TopicPartition], turn: int) -> list[TopicPartition]:
    """Return the partitions beginning with another one each turn: the last may get no bytes."""
    ordered = list(partitions)
    start = turn % len(ordered) if ordered else 0
    return ordered[start:] + ordered[:start]
