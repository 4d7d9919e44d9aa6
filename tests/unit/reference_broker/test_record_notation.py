from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import ConsumerRecord, read_batches
from pyk.reference_broker.record_notation import fields_of
from pyk.reference_broker.seeding import batches_of

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        (b"a", {"value": b"a"}),
        ("é", {"value": "é".encode()}),
        (None, {"value": None}),
        (("k", b"v"), {"key": b"k", "value": b"v"}),
        ({"key": None, "partition": 2}, {"key": None, "partition": 2}),
        ({"headers": {"h": "x"}}, {"headers": (("h", b"x"),)}),
        ({"headers": [("h", None), ("h", b"2")]}, {"headers": (("h", None), ("h", b"2"))}),
        (
            ConsumerRecord("t", 3, 7, key=b"k", value=b"v"),
            {"key": b"k", "value": b"v", "headers": ()},
        ),
    ],
)
def test_a_record_is_written_in_several_ways(written: Any, fields: dict[str, Any]) -> None:
    assert fields_of(written) == fields


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (7, "value must be bytes, str or None, not int"),
        (("k", "v", "x"), "a tuple is a record's key and value, not 3 items"),
        ({"valeu": b"v"}, "no field 'valeu' of a record, only key, value"),
        ({"headers": {"h": 1}}, "a header must be bytes, str or None, not int"),
    ],
)
def test_what_is_not_a_record_is_refused(written: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fields_of(written)


def values_by_partition(records: list[Any], partition_count: int) -> list[tuple[int, Any]]:
    batches = batches_of("orders", records, partition_count, NOW_MS)
    return [
        (partition, record.value)
        for partition, data in batches
        for batch in read_batches(data)
        for record in batch
    ]


def test_records_without_key_take_turns() -> None:
    assert values_by_partition([b"a", b"b", b"c"], 2) == [(0, b"a"), (0, b"c"), (1, b"b")]


def test_keys_go_where_other_clients_put_them() -> None:
    seeded = values_by_partition([("order-1", b"x"), ("order-1", b"y")], 8)

    assert len({partition for partition, _ in seeded}) == 1


def test_a_partition_is_taken_as_it_is_named_and_must_exist() -> None:
    assert values_by_partition([{"value": b"a", "partition": 1}], 2) == [(1, b"a")]
    with pytest.raises(ValueError, match="no partition 2 of 'orders', which has 2"):
        values_by_partition([{"value": b"a", "partition": 2}], 2)


def test_many_records_make_several_batches() -> None:
    records = [bytes(1000) for _ in range(40)]

    batches = batches_of("orders", records, 1, NOW_MS)

    assert len(batches) > 1
    assert len(values_by_partition(records, 1)) == 40


def test_records_have_the_present_time_or_their_own() -> None:
    ((_, data),) = batches_of("t", [b"a", {"value": b"b", "timestamp_ms": 5}], 1, NOW_MS)

    (batch,) = read_batches(data)
    assert [record.timestamp for record in batch] == [NOW_MS, 5]


def test_a_list_in_place_of_records_is_explained() -> None:
    with pytest.raises(TypeError, match=r"a list is not a record: .* as in \*records"):
        fields_of(["a", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"value": b"a", "partition": "0"}, "partition of a record must be an int, not '0'"),
        ({"value": b"a", "timestamp_ms": 1.5}, "timestamp_ms of a record must be an int, not 1.5"),
        ({"value": b"a", "headers": None}, r"headers of a record must be \{name: value\}, or a "),
        ({"value": b"a", "headers": ["ab", "c"]}, r"must be \{name: value\}, .*not \['ab', 'c'\]"),
    ],
)
def test_fields_of_a_wrong_type_are_named(record: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        fields_of(record)
