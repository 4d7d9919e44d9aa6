"""A note in a commit names the finished offsets behind the first unfinished one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients.processing.gaps import (
    MAX_BYTES,
    NoteLimit,
    decode_finished,
    encode_all,
    encode_finished,
)

offset_sets = st.sets(st.integers(1, 5000)).map(sorted)


@given(st.integers(0, 2**62), offset_sets)
def test_decoding_gives_what_was_encoded(offset, deltas):
    finished = [offset + delta for delta in deltas]
    note = encode_finished(offset, finished)

    decoded = decode_finished(offset, note)

    assert len(note) <= MAX_BYTES
    assert decoded == set(finished[: len(decoded)])
    assert len(decoded) == len(finished) or len(note) > MAX_BYTES - 16


def test_nothing_finished_ahead_needs_no_note():
    assert encode_finished(7, []) == ""


def test_a_long_run_is_short():
    note = encode_finished(10, range(11, 1_000_000))

    assert len(note) < 20
    assert decode_finished(10, note) == frozenset(range(11, 1_000_000))


def test_what_does_not_fit_into_a_commit_is_left_out():
    note = encode_finished(0, range(1, 1_000_000, 2))

    assert len(note) <= MAX_BYTES
    assert decode_finished(0, note) == frozenset(range(1, 2 * 1533, 2))


@pytest.mark.parametrize(
    "note",
    ["mine", "pyk1:", "pyk1:*", "pyk1:gA==", "pyk1:AQ==", "pyk1:AQE", "pyk2:AQE=", "pyk1:é"],
)
def test_notes_that_pyk_did_not_write_are_ignored(note):
    assert decode_finished(0, note) is None


def test_a_commit_without_a_note_names_nothing():
    assert decode_finished(0, "") == frozenset()


@given(st.text(max_size=50), st.binary(max_size=60))
def test_no_note_raises(text, data):
    decode_finished(3, f"pyk1:{text}")
    decode_finished(3, "pyk1:" + base64.b64encode(data).decode())


def test_what_is_before_the_commit_is_left_out():
    assert decode_finished(5, encode_finished(5, [3, 5, 7])) == {5, 7}


def test_all_is_named_or_nothing():
    assert encode_all(0, [1, 3]) == encode_finished(0, [1, 3])
    assert encode_all(0, [1, 3], max_bytes=9) is None


def test_a_broker_that_refuses_notes_gets_ever_shorter_ones_and_then_none():
    limit = NoteLimit()

    shortened = [(limit.shorten(), limit.max_bytes) for _ in range(10)]

    assert shortened == [
        *((True, size) for size in (2048, 1024, 512, 256, 128, 64, 32, 16, 0)),
        (False, 0),
    ]
