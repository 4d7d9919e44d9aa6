"""The fetch session with one node (KIP-227): tell only what changed since the last fetch. Pure.

The node remembers the partitions of a session and where each is to be read from. Epoch 0 opens a
session and names all partitions; each later request counts the epoch up and names those that are
new, changed, or to be forgotten. A node that keeps no session answers session id 0, and every
request is then complete. Any doubt about the node's memory is settled by opening a new session.
"""

from __future__ import annotations

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

NONE = ErrorCode.NONE
NO_SESSION = 0
OPENING_EPOCH = 0
MAX_EPOCH = 2**31 - 1
# Fetch names topics by id from version 13 on.
LAST_VERSION_WITH_TOPIC_NAMES = 12


class WantedPartition:
    """A partition to fetch, and how. ``version`` is that of its buffer, which no node sees."""

    def __init__(
        self,
        offset: int,
        max_bytes: int,
        leader_epoch: int = -1,
        topic_id: UUID = ZERO_UUID,
        version: int = -1,
    ) -> None:
        self.offset = offset
        self.max_bytes = max_bytes
        self.leader_epoch = leader_epoch
        self.topic_id = topic_id
        self.version = version

    def is_told(self, told: WantedPartition) -> bool:
        """Tell whether the node knows all of this from what it was told."""
        return (
            self.offset == told.offset
            and self.max_bytes == told.max_bytes
            and self.leader_epoch == told.leader_epoch
        )

    def is_of_topic(self, told: WantedPartition) -> bool:
        """Tell whether the topic is the same, and was not deleted and made again since."""
        return self.topic_id is told.topic_id or self.topic_id == told.topic_id


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
        self, wanted: dict[TopicPartition, WantedPartition], limits: FetchLimits
    ) -> FetchRequest:
        """Return the request that fetches ``wanted`` and nothing else; the session keeps it.

        In a complete request the partitions are read in this order until ``max_bytes``.
        """
        changed, known = self._changes(wanted)
        forgotten = {}
        if known < len(self._told):
            forgotten = {p: how for p, how in self._told.items() if p not in wanted}
        if known < len(wanted) or forgotten:
            self._names = {how.topic_id.int: partition[0] for partition, how in wanted.items()}
        self._told = wanted
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
        code = ErrorCode(response.error_code) if response.error_code else NONE
        if code is not NONE or response.session_id == NO_SESSION:
            self.reset()
        elif self._session_id in (NO_SESSION, response.session_id):
            self._session_id = response.session_id
            self._epoch = self._epoch + 1 if self._epoch < MAX_EPOCH else 1
        else:
            self.reset()  # the node answers for somebody else's session
        return code

    def reset(self) -> None:
        """Tell everything again with the next request."""
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._told = {}

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the topic of an id that was asked for."""
        return self._names.get(topic_id.int)

    def _changes(
        self, wanted: dict[TopicPartition, WantedPartition]
    ) -> tuple[dict[TopicPartition, WantedPartition], int]:
        """Return what the node has to be told, and of how many partitions it knows."""
        changed: dict[TopicPartition, WantedPartition] = {}
        known = 0
        for partition, how in wanted.items():
            told = self._told.get(partition)
            if told is None:
                changed[partition] = how
                continue
            if not how.is_of_topic(told):
                self.reset()
                return wanted, 0
            known += 1
            if not how.is_told(told):
                changed[partition] = how
        return changed, known


def _fetch_topics(wanted: dict[TopicPartition, WantedPartition]) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, number), how in wanted.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchTopic(topic=name, topic_id=how.topic_id, partitions=[])
        topic.partitions.append(
            FetchPartition(
                partition=number,
                current_leader_epoch=how.leader_epoch,
                fetch_offset=how.offset,
                partition_max_bytes=how.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten_topics(
    forgotten: dict[TopicPartition, WantedPartition],
) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for (name, number), how in forgotten.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = ForgottenTopic(topic=name, topic_id=how.topic_id, partitions=[])
        topic.partitions.append(number)
    return list(topics.values())


def rotated(
    wanted: dict[TopicPartition, WantedPartition], turn: int
) -> dict[TopicPartition, WantedPartition]:
    """Return the partitions beginning with another one each turn: the last may get no bytes."""
    if len(wanted) < 2:
        return wanted
    ordered = list(wanted.items())
    start = turn % len(ordered)
    return dict(ordered[start:] + ordered[:start])
