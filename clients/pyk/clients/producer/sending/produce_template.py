"""Encode the produce request of one batch from a template, and recognise success responses. Pure.

From one request of a partition to the next only the records change, and from one answer to the next
only offsets. So the codec encodes an example of each, once for each version and topic id, which is
reused.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pyk.protocol.versions import ALL_VERSIONS, LAST_VERSION, VersionRange
from pyk.protocol.wire_numbers import (
    append_bytes,
    append_int32,
    append_varint,
    get_int64,
    has_bytes,
)

_NO_RECORDS = memoryview(b"")
_NO_RECORDS_COMPACT = b"\x01"  # their size: the varint of one more, or an int32
_NO_RECORDS_CLASSIC = b"\x00\x00\x00\x00"
_OFFSET_BYTES = 8
_SMALL_BYTES = 4 * 1024  # what is cheaper to copy than to hand on as a part of its own


# The versions of Produce, and those that name topics: from 13 on topics go by their ids. From 12 on
# a batch adds its partition to the transaction (KIP-890); version 1 of transactions adds it before.
_VERSIONS = {
    0: (ALL_VERSIONS, VersionRange(0, 12)),
    1: (VersionRange(0, 11), VersionRange(0, 11)),
    2: (VersionRange(12, LAST_VERSION), VersionRange(12, 12)),
}


class ProduceTerms:
    """The fields that all requests of a producer share, and the versions that can carry them.

    ``transaction_version`` is 0 for a producer without transactions.
    """

    __slots__ = (
        "acks",
        "timeout_ms",
        "transaction_version",
        "transactional_id",
        "versions",
        "versions_with_names",
    )

    def __init__(
        self,
        acks: int = -1,
        timeout_ms: int = 30_000,
        transactional_id: str | None = None,
        transaction_version: int = 0,
    ) -> None:
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.transactional_id = transactional_id
        self.transaction_version = transaction_version
        self.versions, self.versions_with_names = _VERSIONS[transaction_version]


class ProduceTemplate:
    """The bytes that all requests with one batch of one partition share, and all success
    responses."""

    __slots__ = (
        "_answer_prefix",
        "_answer_suffix",
        "_has_append_time",
        "_is_compact",
        "_offsets_end",
        "_prefix",
        "_suffix",
        "topic_id",
        "version",
    )

    def __init__(
        self,
        topic: str,
        topic_id: UUID | None,
        partition: int,
        version: int,
        terms: ProduceTerms,
    ) -> None:
        self.topic_id = topic_id
        self.version = version
        self._is_compact = version in ProduceRequest.flexible
        request = _request(topic, topic_id, partition, terms)
        start, _records, *end = request.encode_parts(version)
        no_records = _NO_RECORDS_COMPACT if self._is_compact else _NO_RECORDS_CLASSIC
        if not start.endswith(no_records):
            raise AssertionError("the size of the records is not directly before them")
        self._prefix = bytes(start[: -len(no_records)])
        self._suffix = b"".join(end)
        zeros, ones = (_answer(topic, topic_id, partition, n).encode(version) for n in (0, -1))
        differing = [at for at, byte in enumerate(zeros) if byte != ones[at]]
        first, size = min(differing), len(differing)
        self._offsets_end = first + size
        if max(differing) != first + size - 1 or size % _OFFSET_BYTES:
            raise AssertionError("the offsets of an answer are not side by side")
        self._answer_prefix = zeros[:first]
        self._answer_suffix = zeros[self._offsets_end :]
        self._has_append_time = size > _OFFSET_BYTES

    def fits(self, version: int, batch: ProducerBatch) -> bool:
        """Return whether it fits a request of this version with this batch."""
        return self.version == version and self.topic_id is batch.topic_id

    def fill(self, records: bytearray, out: bytearray) -> list[Any]:
        """Return the parts of the request with these records, as ``encode_parts`` does."""
        append_bytes(out, self._prefix)
        size = len(records)
        if self._is_compact:
            append_varint(out, size + 1)
        else:
            append_int32(out, size)
        if size < _SMALL_BYTES:
            append_bytes(out, records)
            append_bytes(out, self._suffix)
            return [out]
        return [out, records, self._suffix] if self._suffix else [out, records]

    def read_written(self, batch: ProducerBatch, frame: bytes | memoryview, start: int) -> bool:
        """Return whether a response only says that ``batch`` was written; record its offset.

        The answer begins at ``start`` of ``frame``.
        """
        first, end = start + len(self._answer_prefix), start + self._offsets_end
        if (
            len(frame) != end + len(self._answer_suffix)
            or not has_bytes(frame, start, self._answer_prefix)
            or not has_bytes(frame, end, self._answer_suffix)
        ):
            return False
        batch.base_offset = get_int64(frame, first)
        if self._has_append_time:
            batch.log_append_time = get_int64(frame, first + _OFFSET_BYTES)
        return True


def _request(
    topic: str, topic_id: UUID | None, partition: int, terms: ProduceTerms
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=_NO_RECORDS)
    named = TopicProduceData(name=topic, topic_id=topic_id or ZERO_UUID, partition_data=[data])
    return ProduceRequest(
        transactional_id=terms.transactional_id,
        acks=terms.acks,
        timeout_ms=terms.timeout_ms,
        topic_data=[named],
    )


def _answer(topic: str, topic_id: UUID | None, partition: int, number: int) -> ProduceResponse:
    """Return an answer whose offsets and times are all ``number``."""
    answer = PartitionProduceResponse(
        index=partition,
        base_offset=number,
        log_append_time_ms=number,
        log_start_offset=number,
    )
    named = TopicProduceResponse(
        name=topic, topic_id=topic_id or ZERO_UUID, partition_responses=[answer]
    )
    return ProduceResponse(responses=[named])
