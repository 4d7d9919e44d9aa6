"""What a fetch response says to a consumer. Pure.

Nearly every response brings records and no news: no error, no throttle, no aborted transaction, no
tagged field. Such a response is read here, field by field. All others are decoded as messages.
"""

from __future__ import annotations

from typing import Any

from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
)
from pyk.protocol.wire_numbers import get_int32, get_int64

# The versions whose usual responses look alike: they are flexible, and name topics by id.
FIRST_VERSION = 13
LAST_VERSION = 18
_TOPIC_ID_BYTES = 16
_MOST_VARINT_BITS = 28  # of four bytes: lengths of a frame need no more
_NO_RECORDS = memoryview(b"")
_NO_ENDPOINTS: list[NodeEndpoint] = []


class PartitionResult:
    """What one partition had to give. The names are those of the message."""

    def __init__(self, topic: str, topic_id: bytes, partition_index: int) -> None:
        self.topic = topic
        """Empty where topics go by their ids."""
        self.topic_id = topic_id
        self.partition_index = partition_index
        self.error_code = 0
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.preferred_read_replica = -1
        self.leader_id = -1
        self.leader_epoch = -1
        self.aborted_transactions: list[tuple[int, int]] = []
        """Of each, the producer id and the first offset."""
        self.records: Any = _NO_RECORDS


class FetchResult:
    """What a response says, partition by partition."""

    def __init__(self, session_id: int, error_code: int = 0) -> None:
        self.throttle_time_ms = 0
        self.session_id = session_id
        self.error_code = error_code
        self.partitions: list[PartitionResult] = []
        self.node_endpoints: list[NodeEndpoint] = _NO_ENDPOINTS


def result_of(response: FetchResponse) -> FetchResult:
    """Return what a response says that was decoded as a message."""
    result = FetchResult(response.session_id, response.error_code)
    result.throttle_time_ms = response.throttle_time_ms
    result.node_endpoints = response.node_endpoints
    result.partitions = [
        _partition_of(topic, data) for topic in response.responses for data in topic.partitions
    ]
    return result


def _partition_of(topic: FetchableTopicResponse, data: PartitionData) -> PartitionResult:
    result = PartitionResult(topic.topic, topic.topic_id.bytes, data.partition_index)
    result.error_code = data.error_code
    result.high_watermark = data.high_watermark
    result.last_stable_offset = data.last_stable_offset
    result.preferred_read_replica = data.preferred_read_replica
    result.leader_id = data.current_leader.leader_id
    result.leader_epoch = data.current_leader.leader_epoch
    result.aborted_transactions = [
        (aborted.producer_id, aborted.first_offset) for aborted in data.aborted_transactions or ()
    ]
    result.records = _NO_RECORDS if data.records is None else data.records
    return result


def read_usual(frame: bytes | memoryview, version: int, start: int) -> FetchResult | None:
    """Return what the response at ``start`` says, None if it has to be decoded as a message."""
    if not FIRST_VERSION <= version <= LAST_VERSION:
        return None
    try:
        return _Reader(frame, start).result()
    except IndexError:
        return None  # it is cut short: the codec tells where


class _Reader:
    """Reads a usual response from the front to the end of its frame."""

    def __init__(self, frame: bytes | memoryview, position: int) -> None:
        self._frame = memoryview(frame)
        self._position = position
        self._is_usual = True

    def result(self) -> FetchResult | None:
        throttle_time_ms, has_error = self._int32(), self._has_error()
        if throttle_time_ms or has_error:
            return None
        result = FetchResult(self._int32())
        for _ in range(self._count()):
            self._read_topic(result.partitions)
            if not self._is_usual:
                return None
        self._skip_no_tags()
        return result if self._is_usual and self._position == len(self._frame) else None

    def _read_topic(self, partitions: list[PartitionResult]) -> None:
        topic_id = bytes(self._take(_TOPIC_ID_BYTES))
        for _ in range(self._count()):
            self._read_partition(partitions, topic_id)
            if not self._is_usual:
                return
        self._skip_no_tags()

    def _read_partition(self, partitions: list[PartitionResult], topic_id: bytes) -> None:
        result = PartitionResult("", topic_id, self._int32())
        if self._has_error():
            self._is_usual = False
            return
        result.high_watermark = self._int64()
        result.last_stable_offset = self._int64()
        self._int64()  # where the log begins
        if self._varint() > 1:
            self._is_usual = False  # aborted transactions
            return
        result.preferred_read_replica = self._int32()
        size = self._varint() - 1
        if size > 0:
            result.records = self._take(size)
        self._skip_no_tags()
        partitions.append(result)

    def _take(self, size: int) -> Any:
        start = self._position
        self._position = start + size
        if self._position > len(self._frame):
            raise IndexError("the frame ends in the middle of a field")
        return self._frame[start : self._position]

    def _has_error(self) -> bool:
        """Return whether the error code that comes next is not 0."""
        first, second = self._byte(), self._byte()
        return first != 0 or second != 0

    def _skip_no_tags(self) -> None:
        if self._byte():
            self._is_usual = False

    def _int32(self) -> int:
        self._position += 4
        return get_int32(self._frame, self._position - 4)

    def _int64(self) -> int:
        self._position += 8
        return get_int64(self._frame, self._position - 8)

    def _byte(self) -> int:
        # A byte is the last of an int32, as other numbers stand before all single ones.
        self._position += 1
        return get_int32(self._frame, self._position - 4) & 0xFF

    def _count(self) -> int:
        """Return how many elements an array has that cannot be null."""
        size = self._varint()
        if not size:
            self._is_usual = False
        return size - 1

    def _varint(self) -> int:
        value = shift = 0
        while shift < _MOST_VARINT_BITS:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift and not byte:
                    break  # it takes more bytes than it needs
                return value
            shift += 7
        self._is_usual = False
        return 0
