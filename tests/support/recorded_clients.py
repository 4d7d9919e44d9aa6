"""Producers and consumers that write down what they do, as histories for ``pykcheck``.

The values of records are distinct texts. What a client of another library does can be written down
with :class:`pykcheck.Recorder` in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyk.clients import (
    AsyncConsumer,
    AsyncProducer,
    Delivery,
    RebalanceListener,
    TopicPartition,
)
from pyk.clients.errors import KafkaError
from pykcheck import Recorder


def partition_name(partition: tuple[str, int]) -> str:
    """Return the name of a partition in histories."""
    return f"{partition[0]}-{partition[1]}"


def outcome_of(error: BaseException | None) -> str:
    """Return how an operation ended that raised this."""
    if error is None:
        return "ok"
    return "failed" if isinstance(error, KafkaError) and error.definite else "unknown"


@contextmanager
def recording(recorder: Recorder, process: str, kind: str, **fields: Any) -> Iterator[None]:
    """Record an operation that the block carries out."""
    number = recorder.invoke(process, kind, **fields)
    try:
        yield
    except BaseException as error:
        recorder.complete(number, outcome_of(error))
        raise
    recorder.complete(number)


class RecordedProducer:
    """A producer of texts."""

    def __init__(
        self, recorder: Recorder, process: str, producer: AsyncProducer[bytes, bytes]
    ) -> None:
        self.process = process
        self.producer = producer
        self._recorder = recorder

    async def send(
        self, partition: tuple[str, int], value: str, **fields: str | None
    ) -> Delivery | None:
        """Send a value; return None if it was refused at once.

        ``fields`` are the transaction and the source, as histories have them.
        """
        given = {name: text for name, text in fields.items() if text is not None}
        number = self._recorder.invoke(
            self.process, "send", value=value, partition=partition_name(partition), **given
        )
        topic, index = partition
        try:
            delivery = await self.producer.send(topic, value.encode(), partition=index)
        except BaseException as error:
            self._recorder.complete(number, outcome_of(error))
            if isinstance(error, KafkaError):
                return None
            raise

        def done(settled: Delivery) -> None:
            error = settled.exception()
            if error is not None:
                self._recorder.complete(number, outcome_of(error))
                return
            offset = settled.result().offset
            self._recorder.complete(number, offset=offset if offset >= 0 else None)

        delivery.add_done_callback(done)
        return delivery


class RecordedConsumer(RebalanceListener):
    """A consumer of texts, as a member of a group or with partitions that are assigned by hand."""

    def __init__(
        self,
        recorder: Recorder,
        process: str,
        consumer: AsyncConsumer[bytes, bytes],
        *,
        isolation: str,
        group: str | None = None,
    ) -> None:
        self.process = process
        self.consumer = consumer
        self.consumed: dict[TopicPartition, int] = {}
        """What follows the records that were handed out since the last commit."""
        self._recorder = recorder
        self._fields = {"isolation": isolation, **({"group": group} if group else {})}
        self._group = group

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join the group."""
        self.consumer.subscribe(list(topics), listener=self)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read partitions from their beginning."""
        partitions = list(partitions)
        self.consumer.assign(partitions)
        self.on_partitions_assigned(partitions)

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        names = [partition_name(each) for each in partitions]
        with recording(self._recorder, self.process, "assign", partitions=names):
            for each in partitions:
                self.consumed.pop(each, None)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self.consumed.pop(each, None)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self.on_partitions_revoked(partitions)

    async def poll(
        self, timeout: float, max_records: int | None = None, *, transaction: str | None = None
    ) -> list[tuple[TopicPartition, int, str]]:
        """Return partition, offset and value of each record."""
        fields = (
            self._fields if transaction is None else {**self._fields, "transaction": transaction}
        )
        number = self._recorder.invoke(self.process, "poll", **fields)
        try:
            records = [
                (TopicPartition(each.topic, each.partition), each.offset, each.value.decode())
                for each in await self.consumer.poll(timeout, max_records)
            ]
        except BaseException as error:
            self._recorder.complete(number, outcome_of(error))
            raise
        for partition, offset, _ in records:
            self.consumed[partition] = offset + 1
        read = [(partition_name(partition), *rest) for partition, *rest in records]
        self._recorder.complete(number, records=read)
        return records

    async def go_back(self, records: Iterable[tuple[TopicPartition, int, str]]) -> None:
        """Read these again, as after an abort, as far as their partitions are still assigned."""
        first: dict[TopicPartition, int] = {}
        for partition, offset, _ in records:
            first[partition] = min(offset, first.get(partition, offset))
        assigned = self.consumer.assignment()
        for partition, offset in first.items():
            if partition in assigned:
                await self.consumer.seek(partition, offset)
                self.on_partitions_assigned([partition])

    async def commit(self) -> None:
        """Commit what was handed out."""
        offsets, self.consumed = self.consumed, {}
        if offsets:
            with self.recording_commit(offsets):
                await self.consumer.commit(offsets)

    @contextmanager
    def recording_commit(
        self, offsets: Mapping[TopicPartition, int], **fields: str
    ) -> Iterator[None]:
        """Record a commit that the block carries out; ``fields`` may name a transaction."""
        named = {partition_name(each): offset for each, offset in offsets.items()}
        with recording(
            self._recorder,
            self.process,
            "commit_offsets",
            group=self._group,
            offsets=named,
            **fields,
        ):
            yield

    async def read_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets."""
        number = self._recorder.invoke(self.process, "read_offsets", group=self._group)
        try:
            found = await self.consumer.committed(list(partitions))
        except BaseException as error:
            self._recorder.complete(number, outcome_of(error))
            raise
        offsets = {each: committed.offset for each, committed in found.items() if committed}
        named = {partition_name(each): offset for each, offset in offsets.items()}
        self._recorder.complete(number, offsets=named)
        return offsets

    async def read_to_the_end(self, partitions: Iterable[TopicPartition]) -> None:
        """Read partitions from their beginning to their end, and record that this was all."""
        partitions = list(partitions)
        self.assign(partitions)
        ends = await self.consumer.end_offsets(partitions)
        while any([await self.consumer.position(each) < ends[each] for each in partitions]):
            await self.poll(1.0)
        number = self._recorder.invoke(self.process, "end_offsets")
        named = {partition_name(each): offset for each, offset in ends.items()}
        self._recorder.complete(number, offsets=named)
