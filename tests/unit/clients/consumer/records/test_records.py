from __future__ import annotations

import copy
import datetime
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import FetchedRecords, RecordSpan
from support.batches import batch, batches

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)
MILLISECONDS = 1_700_000_000_123


def spans(partition: TopicPartition, data: bytearray, offset: int = 0) -> list[RecordSpan]:
    fetched = FetchedRecords(partition.topic, partition.partition, data, offset)
    found = []
    while (span := fetched.next_span(1000)) is not None:
        found.append(span)
    return found


def some_records() -> ConsumerRecords[bytes, bytes]:
    first = spans(A0, batches(0, 2, 1))
    rest = spans(
        B1,
        batch(
            7,
            [b"x", None],
            key=b"k",
            headers=[("h", b"1"), ("h", None)],
            timestamp_ms=MILLISECONDS,
            leader_epoch=5,
        ),
        7,
    )
    return ConsumerRecords(first + rest)


def test_it_is_a_sequence_of_records() -> None:
    records = some_records()

    assert len(records) == 5
    assert [record.offset for record in records] == [0, 1, 2, 7, 8]
    assert records[0].value == b"0"
    assert records[-1].offset == 8
    assert [record.offset for record in records[1:3]] == [1, 2]
    assert [record.offset for record in reversed(records)] == [8, 7, 2, 1, 0]


def test_a_record_says_where_it_is_from() -> None:
    record = some_records()[3]

    assert (record.topic, record.partition, record.leader_epoch) == ("b", 1, 5)
    assert (record.key, record.value, record.timestamp) == (b"k", b"x", MILLISECONDS)
    assert record.headers == (("h", b"1"), ("h", None))


def test_records_can_be_pickled_and_copied() -> None:
    first, second = spans(A0, batches(0, 2, 1))
    head, rest = second.split(1) if second.count > 1 else first.split(1)
    records = ConsumerRecords([*some_records()._spans, head, *([rest] if rest else [])])

    for twin in (pickle.loads(pickle.dumps(records)), copy.deepcopy(records)):
        assert list(twin) == list(records)
        assert twin.next_offsets() == records.next_offsets()
        assert twin.to_arrow() == records.to_arrow()
        assert twin.of(B1) == records.of(B1)


def test_no_records_are_false() -> None:
    assert not ConsumerRecords()
    assert len(ConsumerRecords()) == 0
    assert ConsumerRecords().partitions() == ()


def test_records_are_found_by_partition() -> None:
    records = some_records()

    assert records.partitions() == (A0, B1)
    assert [record.offset for record in records.of(B1)] == [7, 8]
    assert {p: len(of) for p, of in records.by_partition().items()} == {A0: 3, B1: 2}
    assert len(records.of(TopicPartition("a", 9))) == 0


def test_records_that_deserializers_made_are_kept() -> None:
    made = [ConsumerRecord("a", 0, 0, value="zero"), ConsumerRecord("a", 0, 1, value="one")]
    records: ConsumerRecords[bytes, str] = ConsumerRecords(spans(A0, batches(0, 2)), made)

    assert [record.value for record in records] == ["zero", "one"]
    assert [record.value for record in records.of(A0)] == ["zero", "one"]


def test_the_offsets_after_the_last_records_are_known() -> None:
    assert some_records().next_offsets() == {A0: (3, 0), B1: (9, 5)}


def test_arrow_columns_are_those_of_sparks_source() -> None:
    table = some_records().to_arrow()

    assert table.schema == pa.schema(
        [
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("us", tz="UTC")),
            ("timestamp_type", pa.int32()),
        ]
    )
    rows = table.to_pylist()
    when = datetime.datetime.fromtimestamp(MILLISECONDS / 1000, datetime.UTC)
    assert rows[3] == {
        "key": b"k",
        "value": b"x",
        "topic": "b",
        "partition": 1,
        "offset": 7,
        "timestamp": when,
        "timestamp_type": 0,
    }
    assert [row["value"] for row in rows] == [b"0", b"1", b"2", b"x", None]
    assert [row["key"] for row in rows] == [None, None, None, b"k", b"k"]
    assert [row["topic"] for row in rows] == ["a", "a", "a", "b", "b"]


def test_arrow_columns_come_in_the_order_asked_for() -> None:
    table = some_records().to_arrow(["offset", "headers"])

    assert table.column_names == ["offset", "headers"]
    headers = table["headers"].to_pylist()
    assert headers[0] is None
    assert headers[3] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]


def test_arrow_of_nothing_has_the_columns() -> None:
    table = ConsumerRecords[bytes, bytes]().to_arrow()

    assert table.num_rows == 0
    assert table.column_names[0] == "key"


def test_arrow_may_have_columns_that_are_the_same_for_every_record_only() -> None:
    table = some_records().to_arrow(["topic", "partition"])

    assert table["partition"].to_pylist() == [0, 0, 0, 1, 1]


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'offsett'"):
        some_records().to_arrow(["offsett"])
    with pytest.raises(TypeError, match=r"a list of names such as \['offset'\]"):
        some_records().to_arrow("offset")


def test_without_pyarrow_the_error_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pyk.clients import ConsumerRecords\n"
        "ConsumerRecords().to_arrow()"
    )

    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert "pip install 'pyk-kafka[arrow]'" in done.stderr
