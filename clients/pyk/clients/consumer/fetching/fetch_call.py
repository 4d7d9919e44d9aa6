"""One fetch request: the partitions in it, and how it is encoded. Pure.

A fetch session makes most requests small: no partition, or one that has moved on. From one such
request of a topic to the next only numbers of a fixed size change. So the codec encodes examples,
and finds the place of each number by comparing their bytes; the encoded bytes are reused.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import SelfCodedRequest
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from pyk.protocol.wire_numbers import append_bytes, put_int32, put_int64

_FETCH = int(ApiKey.FETCH)
_INT32_BYTES, _INT64_BYTES = 4, 8
NOWHERE = -1
FIRST_VERSION_WITH_SESSIONS = 7  # KIP-227


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
        self._begin(offset, max_bytes, leader_epoch, topic_id, version)

    def _begin(
        self, offset: int, max_bytes: int, leader_epoch: int, topic_id: UUID, version: int
    ) -> None:
        self.offset = offset
        self.max_bytes = max_bytes
        self.leader_epoch = leader_epoch
        self.topic_id = topic_id
        self.version = version

    def is_told(self, told: WantedPartition) -> bool:
        """Return whether the node knows all of this from earlier requests."""
        return (
            self.offset == told.offset
            and self.max_bytes == told.max_bytes
            and self.leader_epoch == told.leader_epoch
        )

    def is_of_topic(self, topic_id: UUID) -> bool:
        """Return whether the topic is the same, and was not deleted and created again since."""
        return self.topic_id is topic_id or self.topic_id == topic_id


def new_wanted(
    offset: int, max_bytes: int, leader_epoch: int, topic_id: UUID, version: int
) -> WantedPartition:
    """Return a partition to fetch; compiled, no arguments are parsed on the way."""
    wanted = WantedPartition.__new__(WantedPartition)
    wanted._begin(offset, max_bytes, leader_epoch, topic_id, version)
    return wanted


Wanted = dict[TopicPartition, WantedPartition]


class FetchTerms:
    """The fields that all requests of a consumer share."""

    def __init__(self, min_bytes: int = 1, isolation_level: int = 0, rack: str = "") -> None:
        self.min_bytes = min_bytes
        self.isolation_level = isolation_level
        self.rack = rack
        self.templates: dict[str | None, FetchTemplate] = {}
        """The templates of small requests, by topic; None for requests without a partition."""


class FetchCall(SelfCodedRequest):
    """A fetch request of a session."""

    def __init__(
        self, terms: FetchTerms, session_id: int, epoch: int, max_wait_ms: int, max_bytes: int
    ) -> None:
        self._begin(terms, session_id, epoch, max_wait_ms, max_bytes, {})

    def _begin(  # noqa: PLR0917 - keywords would cost a compiled caller more than the rest
        self,
        terms: FetchTerms,
        session_id: int,
        epoch: int,
        max_wait_ms: int,
        max_bytes: int,
        wanted: Wanted,
    ) -> None:
        self.api_key = _FETCH
        self.is_answered = True
        self.session_id = session_id
        self.epoch = epoch
        self.max_wait_ms = max_wait_ms
        self.max_bytes = max_bytes
        self.wanted = wanted
        """The partitions that the node has to be told of."""
        self.forgotten: Wanted = {}
        """The partitions that the node leaves out from now on."""
        self._terms = terms

    def encode_parts(self, version: int, out: bytearray) -> list[Any]:
        """Return the parts of the encoded request, and raise, as a message does."""
        if version < FIRST_VERSION_WITH_SESSIONS and self.forgotten:
            # The node was newer when it was asked last. Its answer will say that it keeps no
            # session, and then it is told everything.
            self.forgotten = {}
        if self.forgotten or len(self.wanted) > 1:
            return self.message().encode_parts(version, out)
        name: str | None = None
        number, how = 0, NO_PARTITION
        for partition, wanted in self.wanted.items():
            (name, number), how = partition, wanted
        template = self._terms.templates.get(name)
        if (
            template is None
            or template.version != version
            or not how.is_of_topic(template.topic_id)
        ):
            template = FetchTemplate(self._terms, name, how.topic_id, version)
            self._terms.templates[name] = template
        template.fill(self, number, how, out)
        return [out]

    def message(self) -> FetchRequest:
        """Return the request as a message."""
        return FetchRequest(
            max_wait_ms=self.max_wait_ms,
            min_bytes=self._terms.min_bytes,
            max_bytes=self.max_bytes,
            isolation_level=self._terms.isolation_level,
            rack_id=self._terms.rack,
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=_fetch_topics(self.wanted),
            forgotten_topics_data=_forgotten_topics(self.forgotten),
        )


def new_call(  # noqa: PLR0917
    terms: FetchTerms, session_id: int, epoch: int, max_wait_ms: int, max_bytes: int, wanted: Wanted
) -> FetchCall:
    """Return a request; compiled, no arguments are parsed on the way."""
    call = FetchCall.__new__(FetchCall)
    call._begin(terms, session_id, epoch, max_wait_ms, max_bytes, wanted)
    return call


class FetchTemplate:
    """The bytes of a request for one partition of a topic, or none, and where its numbers go."""

    def __init__(self, terms: FetchTerms, topic: str | None, topic_id: UUID, version: int) -> None:
        self.version = version
        self.topic_id = topic_id
        self._bytes = _example(terms, topic, topic_id, version)
        self._number_positions = [self._find(terms, topic, number) for number in range(len(_ONES))]

    def _find(self, terms: FetchTerms, topic: str | None, number: int) -> int:
        """Return the place of a number, NOWHERE if these requests do not have it."""
        other = _example(terms, topic, self.topic_id, self.version, changed=number)
        differing = [at for at in range(len(other)) if other[at] != self._bytes[at]]
        if not differing:
            return NOWHERE
        size = _INT64_BYTES if number == _OFFSET else _INT32_BYTES
        if differing != list(range(differing[0], differing[0] + size)):
            raise AssertionError(f"number {number} does not stand in {size} bytes")
        return differing[0]

    def fill(self, call: FetchCall, number: int, how: WantedPartition, out: bytearray) -> None:
        """Append the request with the numbers of a call, for one partition if it has any."""
        start = len(out)
        append_bytes(out, self._bytes)
        self._put(out, start, 0, call.max_wait_ms)
        self._put(out, start, 1, call.max_bytes)
        self._put(out, start, 2, call.session_id)
        self._put(out, start, 3, call.epoch)
        self._put(out, start, 4, number)
        self._put(out, start, 5, how.leader_epoch)
        self._put(out, start, 6, how.max_bytes)
        position: int = self._number_positions[_OFFSET]
        if position != NOWHERE:
            put_int64(out, start + position, how.offset)

    def _put(self, out: bytearray, start: int, number: int, value: int) -> None:
        position: int = self._number_positions[number]
        if position != NOWHERE:
            put_int32(out, start + position, value)


# The numbers of examples, in the order in which `fill` knows them. No byte of one of _ONES is that
# of the same one of _TWOS.
_OFFSET = 7
_ONES = (*[0x01010101] * _OFFSET, 0x0101010101010101)
_TWOS = (*[0x02020202] * _OFFSET, 0x0202020202020202)
NO_PARTITION = WantedPartition(0, 0)


def _example(
    terms: FetchTerms, topic: str | None, topic_id: UUID, version: int, changed: int = NOWHERE
) -> bytes:
    """Return the bytes of a request with numbers that are easy to find."""
    numbers = [_TWOS[at] if at == changed else one for at, one in enumerate(_ONES)]
    max_wait_ms, max_bytes, session_id, epoch, number, leader_epoch, size, offset = numbers
    call = FetchCall(terms, session_id, epoch, max_wait_ms, max_bytes)
    if topic is not None:
        how = WantedPartition(offset, size, leader_epoch, topic_id)
        call.wanted[TopicPartition(topic, number)] = how
    return b"".join(call.message().encode_parts(version))


def _fetch_topics(wanted: Wanted) -> list[FetchTopic]:
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


def _forgotten_topics(forgotten: Wanted) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for (name, number), how in forgotten.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = ForgottenTopic(topic=name, topic_id=how.topic_id, partitions=[])
        topic.partitions.append(number)
    return list(topics.values())
