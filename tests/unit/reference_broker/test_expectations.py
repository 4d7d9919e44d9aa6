from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.records import ConsumerRecord
from pyk.reference_broker.expectations import Comparison, Expectation


def stored(*values: bytes, partition: int = 0) -> list[ConsumerRecord]:
    return [
        ConsumerRecord("orders", partition, offset, key=b"k", value=value)
        for offset, value in enumerate(values)
    ]


def compare(expected: list[Any], records: list[ConsumerRecord], *, ordered: bool) -> Comparison:
    return Expectation("orders", expected).compare(records, is_ordered=ordered)


@pytest.mark.parametrize(
    ("expected", "values", "ordered", "exactly", "is_met"),
    [
        ([b"a", b"b"], [b"a", b"b"], True, True, True),
        ([b"b", b"a"], [b"a", b"b"], True, True, False),
        ([b"b", b"a"], [b"a", b"b"], True, False, False),
        ([b"b", b"a"], [b"a", b"b"], False, True, True),
        ([b"a", b"c"], [b"a", b"b", b"c"], True, False, True),
        ([b"a", b"c"], [b"a", b"b", b"c"], True, True, False),
        ([b"a", b"a"], [b"a"], False, False, False),
        ([], [], True, True, True),
        ([], [b"a"], True, True, False),
        ([], [b"a"], True, False, True),
        ([("k", "a")], [b"a"], True, True, True),
        ([("x", "a")], [b"a"], True, True, False),
        ([{"value": "a", "partition": 0}], [b"a"], True, True, True),
        ([{"value": "a", "headers": {"h": "x"}}], [b"a"], True, True, False),
        ([{"timestamp_ms": -1}], [b"a"], True, True, True),
        ([lambda record: record.offset == 0], [b"a"], True, True, True),
        ([lambda record: record.offset == 1], [b"a"], True, True, False),
        (stored(b"a"), [b"a"], True, True, True),
    ],
)
def test_expected_and_stored_records_are_compared(
    expected: list[Any], values: list[bytes], ordered: bool, exactly: bool, is_met: bool
) -> None:
    comparison = compare(expected, stored(*values), ordered=ordered)

    assert comparison.is_met(exactly=exactly) is is_met


def test_the_records_that_match_come_as_they_were_expected() -> None:
    comparison = compare([b"b", b"a"], stored(b"a", b"b", b"c"), ordered=False)

    assert [record.value for record in comparison.matched] == [b"b", b"a"]
    assert [record.value for record in comparison.others] == [b"c"]


def test_a_failure_shows_what_is_missing_and_what_came() -> None:
    expectation = Expectation("orders", [b"first", ("k", b"second")])
    records = stored(b"first", b"other")
    comparison = expectation.compare(records, is_ordered=True)

    shown = expectation.failure(comparison, records, exactly=True, is_ordered=True, seconds=2.5)

    summary = (
        "'orders' did not get the expected records in this order within 2.5 s: "
        "1 of 2 missing, 1 others"
    )
    assert shown.splitlines() == [
        summary,
        "  missing:",
        "    ('k', b'second')",
        "  not expected:",
        "    partition 0 offset 1: key=b'k', value=b'other'",
        "  all 2 records:",
        "    partition 0 offset 0: key=b'k', value=b'first'",
        "    partition 0 offset 1: key=b'k', value=b'other'",
    ]


def test_a_failure_with_many_records_shows_the_first() -> None:
    expectation = Expectation("orders", [b"x"])
    records = stored(*[b"a"] * 30)
    comparison = expectation.compare(records, is_ordered=True)

    shown = expectation.failure(comparison, records, exactly=False, is_ordered=True, seconds=1)

    assert shown.splitlines()[-1] == "    … and 10 more"
    assert "not expected" not in shown


def test_what_is_not_a_record_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="value must be bytes, str or None, not int"):
        Expectation("orders", [7])  # type: ignore[list-item]
