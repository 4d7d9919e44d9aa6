from __future__ import annotations

import pytest

from pyk.clients import ConsumerRecord
from pyk.command_line.records.filters import RecordFilter, parse_header, parse_pattern

RECORD: ConsumerRecord[bytes | None, bytes | None] = ConsumerRecord(
    "orders", 0, 0, key=b"k1", value=b"one two", headers=(("a", b"x"), ("a", b"y"), ("b", None))
)


@pytest.mark.parametrize(
    ("record_filter", "accepts"),
    [
        (RecordFilter(), True),
        (RecordFilter(value=parse_pattern("t.o")), True),
        (RecordFilter(value=parse_pattern("^two")), False),
        (RecordFilter(key=parse_pattern("1$")), True),
        (RecordFilter(value=parse_pattern("one"), key=parse_pattern("2")), False),
        (RecordFilter(headers=(parse_header("a"),)), True),
        (RecordFilter(headers=(parse_header("a=y"),)), True),
        (RecordFilter(headers=(parse_header("a=z"),)), False),
        (RecordFilter(headers=(parse_header("b="),)), False),
        (RecordFilter(headers=(parse_header("c"),)), False),
    ],
)
def test_all_conditions_must_hold(record_filter: RecordFilter, accepts: bool) -> None:
    assert record_filter.accepts(RECORD) is accepts


def test_a_pattern_may_hold_bytes_that_are_no_text() -> None:
    assert parse_pattern("\udcff").search(b"k\xff")


def test_a_filter_knows_whether_it_chooses() -> None:
    filters = [
        RecordFilter(value=parse_pattern("a")),
        RecordFilter(key=parse_pattern("a")),
        RecordFilter(headers=(parse_header("a"),)),
    ]

    assert all(filters)
    assert not RecordFilter()


def test_null_matches_no_pattern() -> None:
    empty: ConsumerRecord[bytes | None, bytes | None] = ConsumerRecord("orders", 0, 0)

    assert not RecordFilter(value=parse_pattern("")).accepts(empty)


def test_the_error_for_a_pattern_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression: "):
        parse_pattern("(")


@pytest.mark.parametrize("text", ["", "=x"])
def test_a_header_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"it must be NAME or NAME=REGEX, not '{text}'"):
        parse_header(text)
