"""A fetch buffer whose both sides a test controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.buffer.partition_buffer import PartitionBuffer
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import FetchedRecords

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))


class Reader:
    """A fetch buffer whose both sides the test controls."""

    def __init__(
        self,
        *partitions: TopicPartition,
        value_deserializer: Callable[[bytes], Any] | None = None,
        max_span: int = 500,
    ) -> None:
        self.calls: list[str] = []
        self.buffer = FetchBuffer(
            lambda: self.calls.append("data"),
            lambda: self.calls.append("room"),
            self.take_records,
        )
        self.writer = FetchWriter(self.buffer)
        self.reader = FetchReader(self.buffer, Deserializers(None, value_deserializer), max_span)
        for partition in partitions or (A0,):
            self.writer.set_position(self.writer.add_partition(partition), 0, -1)

    def take_records(self, fetch: Callable[[], None]) -> None:
        self.calls.append("data")
        fetch()

    def __getitem__(self, partition: TopicPartition) -> PartitionBuffer:
        return self.buffer.partitions[partition]

    def fetch(
        self, data: bytearray, partition: TopicPartition = A0, *, next_offset: int | None = None
    ) -> None:
        """Append the data of a fetch at the present fetch offset."""
        begin = self[partition].fetch_offset
        fetched = FetchedRecords(partition.topic, partition.partition, data, begin)
        end = next_offset if next_offset is not None else end_of(data)
        self.writer.append(self[partition], fetched, len(data), end)
        self.buffer.tell_of_records(lambda: None)

    def poll(self, max_records: int = 500) -> list[Any]:
        spans, records = self.reader.take(max_records)
        self.reader.is_under_way = False
        if records is None:
            return [record.value for span in spans for record in span]
        return [record.value for record in records]

    def next(self) -> Any:
        """Return the next value as iteration would, None at the end."""
        record = self.next_whole()
        return None if record is None else record.value

    def next_whole(self) -> Any:
        """Return the next record as iteration would, None at the end."""
        while (record := self.reader.next_record()) is None:
            if not self.reader.open_span():
                return None
        return record

    def attend(self) -> None:
        """Handle a call for attention as a consumer does."""
        self.reader.come_back()
        self.buffer.clear_attention(EVENT)

    def finished(self, partition: TopicPartition = A0) -> int:
        return self.buffer.finished(self[partition])[0]

    def position(self, partition: TopicPartition = A0) -> int:
        return self[partition].position


def end_of(data: bytearray) -> int:
    """Return the offset after the last batch."""
    position = end = 0
    while position < len(data):
        delta = int.from_bytes(data[position + 23 : position + 27], "big")
        end = int.from_bytes(data[position : position + 8], "big") + delta + 1
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return end
