from __future__ import annotations

import pytest

from pyk.command_line.records.outgoing import Additions, LineReader, OutgoingRecord, Pace


@pytest.mark.parametrize(
    ("reader", "line", "record"),
    [
        (LineReader(), b"a:b", OutgoingRecord(value=b"a:b")),
        (LineReader(separator=b":"), b"a:b:c", OutgoingRecord(key=b"a", value=b"b:c")),
        (LineReader(separator=b":"), b":", OutgoingRecord(key=b"", value=b"")),
        (LineReader(separator=b":", null=b""), b"a:", OutgoingRecord(key=b"a")),
        (LineReader(null=b"NULL"), b"NULL", OutgoingRecord()),
        (
            LineReader(header_separator=b"\t", separator=b":"),
            b"x=1,y=\tk:v",
            OutgoingRecord(key=b"k", value=b"v", headers=(("x", b"1"), ("y", b""))),
        ),
        (LineReader(header_separator=b"\t"), b"\tv", OutgoingRecord(value=b"v")),
    ],
)
def test_a_line_is_a_record(reader: LineReader, line: bytes, record: OutgoingRecord) -> None:
    assert reader.read(line) == record


@pytest.mark.parametrize(
    ("reader", "line", "words"),
    [
        (LineReader(separator=b":"), b"a", "it has no separator ':' after the key"),
        (LineReader(separator=b"\xff"), b"a", r"it has no separator '\\xff' after the key"),
        (LineReader(header_separator=b"\t"), b"a", r"it has no separator '\\t' after the headers"),
        (LineReader(header_separator=b"\t"), b"x\ta", "a header must be NAME=VALUE, not 'x'"),
        (
            LineReader(header_separator=b"\t"),
            b"\xff=1\ta",
            r"the name of a header must be UTF-8, not '\\xff'",
        ),
    ],
)
def test_a_line_without_a_separator_is_refused(reader: LineReader, line: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        reader.read(line)


def test_options_complete_records() -> None:
    additions = Additions(key=b"k", headers=(("b", b"2"),), partition=3)
    given = OutgoingRecord(key=b"own", value=b"v", headers=(("a", b"1"),), partition=0)

    assert additions.to(OutgoingRecord(value=b"v")) == OutgoingRecord(
        key=b"k", value=b"v", headers=(("b", b"2"),), partition=3
    )
    assert additions.to(given) == OutgoingRecord(
        key=b"own", value=b"v", headers=(("a", b"1"), ("b", b"2")), partition=0
    )


def test_a_pace_is_kept_on_average() -> None:
    pace = Pace(rate=10, started=100.0)

    delays = [pace.next_in(now) for now in (100.0, 100.0, 100.5, 100.5)]

    assert delays == pytest.approx([0.0, 0.1, 0.0, 0.0])
    assert pace.next_in(100.0) == pytest.approx(0.4)
