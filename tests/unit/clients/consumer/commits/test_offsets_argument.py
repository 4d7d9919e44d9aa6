from __future__ import annotations

import pytest

from pyk.clients.consumer.commits.offsets_argument import offsets_to_commit
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.records import FetchedRecords
from support.batches import batch

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def test_a_record_means_the_offset_after_it() -> None:
    record = ConsumerRecord("a", 0, 41, leader_epoch=3)

    assert offsets_to_commit(record).offsets == {A0: OffsetAndMetadata(42, "", 3)}


def test_of_several_records_the_last_of_each_partition_counts() -> None:
    records = [ConsumerRecord("a", n % 2, n) for n in (4, 7, 2, 9)]

    assert offsets_to_commit(records).offsets == {
        A0: OffsetAndMetadata(5),
        A1: OffsetAndMetadata(10),
    }


def test_a_batch_means_the_offset_after_its_last_record() -> None:
    data = batch(5, [b"x", b"y"], leader_epoch=2)
    span = FetchedRecords("a", 0, data, 5).next_span(10)
    assert span is not None

    assert offsets_to_commit(ConsumerRecords([span])).offsets == {A0: OffsetAndMetadata(7, "", 2)}


def test_a_mapping_is_taken_as_it_is() -> None:
    given: dict[TopicPartition, OffsetAndMetadata | int] = {
        A0: 5,
        A1: OffsetAndMetadata(6, "note", 1),
    }

    assert offsets_to_commit(given).offsets == {
        A0: OffsetAndMetadata(5),
        A1: OffsetAndMetadata(6, "note", 1),
    }


def test_negative_offsets_and_other_things_are_refused() -> None:
    with pytest.raises(
        ValueError, match="the offset of a-0 must be 0 or more, of 64 bits at most, not -1"
    ):
        offsets_to_commit({A0: -1})
    with pytest.raises(TypeError, match="not int"):
        offsets_to_commit([1, 2])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not int"):
        offsets_to_commit(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="offset of a-0 must be an int or OffsetAndMetadata, not"):
        offsets_to_commit({A0: "5"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="a partition must be TopicPartition"):
        offsets_to_commit({"a": 5})  # type: ignore[dict-item]
