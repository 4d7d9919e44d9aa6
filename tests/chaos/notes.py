"""What members of groups and share groups write down, for :mod:`chaos.deliveries`.

Each note is one event of a file of JSON lines, in the form of an invocation of ``pykcheck``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyk.clients import AcknowledgeType, RebalanceListener, TopicPartition
from pykcheck import Recorder
from support.recorded_clients import partition_name


class MemberNotes(RebalanceListener):
    """What a member of a consumer group owns and handles."""

    def __init__(self, recorder: Recorder, process: str, group: str) -> None:
        self._recorder = recorder
        self._process = process
        self._group = group

    def handled(self, record: Any) -> None:
        """Note that the application has finished with a record."""
        self._note(
            "handled",
            partition=partition_name((record.topic, record.partition)),
            offset=record.offset,
            value=record.value.decode(),
        )

    def joins(self) -> None:
        """Note that the member is going to join."""
        self._note("joins")

    def left(self) -> None:
        """Note that the member has left its group cleanly."""
        self._note("left")

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self._note("assigned", partitions=[partition_name(each) for each in partitions])

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        self._note("revoked", partitions=[partition_name(each) for each in partitions])

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self._note("lost", partitions=[partition_name(each) for each in partitions])

    def _note(self, kind: str, **fields: Any) -> None:
        self._recorder.invoke(self._process, kind, group=self._group, **fields)


class ShareNotes:
    """What a member of a share group gets, says of it, and hears that the leader took."""

    def __init__(self, recorder: Recorder, process: str) -> None:
        self._recorder = recorder
        self._process = process

    def delivered(self, record: Any, kind: AcknowledgeType) -> None:
        """Note a delivery, and how it is going to be acknowledged."""
        self._recorder.invoke(
            self._process,
            "delivered",
            partition=partition_name((record.topic, record.partition)),
            offset=record.offset,
            value=record.value.decode(),
            count=record.delivery_count,
            said=kind.name.lower(),
        )

    def acknowledged(
        self, offsets: Mapping[TopicPartition, Iterable[range]], error: Exception | None
    ) -> None:
        """Note the outcome of acknowledgements, as the callback of a share consumer."""
        for partition, ranges in offsets.items():
            self._recorder.invoke(
                self._process,
                "acknowledged",
                partition=partition_name(partition),
                ranges=[[each.start, each.stop] for each in ranges],
                error=None if error is None else type(error).__name__,
            )

    def joins(self) -> None:
        """Note that the member is going to join."""
        self._recorder.invoke(self._process, "joins")

    def left(self) -> None:
        """Note that the member has left its group cleanly."""
        self._recorder.invoke(self._process, "left")
