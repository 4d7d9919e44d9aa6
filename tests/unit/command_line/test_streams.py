from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.command_line.wire import streams
from pyk.command_line.wire.streams import ByteStream, Gap


def opened(sequence: int = 99) -> ByteStream:
    stream = ByteStream()
    stream.begin(sequence)
    return stream


def test_bytes_come_in_order() -> None:
    stream = opened()

    assert stream.push(100, b"ab") == [b"ab"]
    assert stream.push(104, b"ef") == []
    assert stream.push(102, b"cd") == [b"cd", b"ef"]


def test_retransmitted_bytes_are_taken_once() -> None:
    stream = opened()
    stream.push(100, b"abcd")

    assert stream.push(100, b"abcd") == []
    assert stream.push(102, b"cdef") == [b"ef"]


def test_sequence_numbers_wrap_around() -> None:
    stream = opened(2**32 - 3)

    assert stream.push(2**32 - 2, b"abcd") == [b"abcd"]
    assert stream.push(2, b"ef") == [b"ef"]


def test_a_stream_without_its_start_begins_with_the_first_packet() -> None:
    assert ByteStream().push(5000, b"ab") == [b"ab"]


def test_bytes_that_were_acknowledged_and_not_captured_are_a_gap() -> None:
    stream = opened()
    stream.push(105, b"fg")

    assert stream.acknowledge(103) == []
    assert stream.acknowledge(107) == [Gap(5), b"fg"]
    assert stream.push(100, b"abcde") == []


def test_bytes_missing_from_a_packet_are_a_gap_at_once() -> None:
    stream = opened()

    assert stream.push(100, b"ab", missing=3) == [b"ab", Gap(3)]
    assert stream.push(105, b"fg") == [b"fg"]


def test_bytes_missing_from_one_packet_can_come_with_another() -> None:
    stream = opened()
    stream.push(103, b"d", missing=3)

    assert stream.push(100, b"abcdefg") == [b"abcdefg"]


def test_buffered_bytes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_WAITING_BYTES", 5)
    stream = opened()
    stream.push(110, b"klm")

    assert stream.push(120, b"uvw") == [Gap(10), b"klm"]
    assert stream.waiting_bytes == 3


def test_ending_a_stream_reports_each_gap() -> None:
    stream = opened()
    stream.push(102, b"c")
    stream.push(105, b"f")

    assert [stream.give_up(), stream.give_up(), stream.give_up()] == [
        [Gap(2), b"c"],
        [Gap(2), b"f"],
        [],
    ]


@given(st.binary(min_size=1, max_size=60), st.integers(0, 2**32 - 1), st.data())
def test_packets_in_any_order_give_the_same_bytes(
    sent: bytes, first: int, draw: st.DataObject
) -> None:
    places = st.integers(0, len(sent))
    drawn = draw.draw(st.lists(st.tuples(places, places), max_size=8))
    pieces = [(min(each), max(each)) for each in drawn]
    cuts = sorted({0, len(sent), *(end for piece in pieces for end in piece)})
    pieces += pairwise(cuts)
    stream = opened(first - 1)

    got = [
        part
        for start, end in draw.draw(st.permutations(pieces))
        for part in stream.push((first + start) % 2**32, sent[start:end])
    ]

    assert b"".join(part for part in got if isinstance(part, bytes)) == sent
    assert not any(isinstance(part, Gap) for part in got)
