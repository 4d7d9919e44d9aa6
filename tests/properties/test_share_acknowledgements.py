"""Every acquired offset is acknowledged exactly one way, whatever the application does."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyk.clients import AcknowledgeType
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.share.acknowledgements import Acknowledgements, Run
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_reader import ShareReader
from support.acquired import acquired_records
from support.record_batches import control_batch, raw_batch, record

RUNS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(-1, 4)).map(
        lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
    ),
    max_size=30,
)


@given(RUNS)
def test_ranges_say_what_a_dict_would_say_and_are_canonical(added: list[Run]) -> None:
    some, model = Acknowledgements(), dict[int, int]()
    for first, last, kind in added:
        some.add(first, last, kind)
        model.update(dict.fromkeys(range(first, last + 1), kind))

    runs = list(some)

    assert {o: kind for first, last, kind in runs for o in range(first, last + 1)} == model
    for before, after in itertools.pairwise(runs):
        assert before[1] < after[0]
        assert before[1] + 1 < after[0] or before[2] != after[2]
    assert all(some.kind_at(offset) == model.get(offset) for offset in range(55))


@given(RUNS, st.lists(st.tuples(st.integers(0, 55), st.integers(1, 4))))
def test_deciding_is_adding_where_there_is_something(
    added: list[Run], decided: list[tuple[int, int]]
) -> None:
    some, model = Acknowledgements(added), Acknowledgements(added)
    for offset, kind in decided:
        known = model.kind_at(offset)
        if known is not None:
            model.add(offset, offset, kind)

        assert some.decide(offset, kind) == known
        assert list(some) == list(model)


@st.composite
def acquisitions(draw: Any) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Draw batches with gaps and markers, and the ranges that were acquired of them."""
    data, base = b"", 0
    for size in draw(st.lists(st.integers(1, 8), min_size=1, max_size=5)):
        if draw(st.integers(0, 4)) == 0:
            data += control_batch(1, base_offset=base)
            base += 1
            continue
        kept = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)))
        records = b"".join(record(delta) for delta in kept)
        data += raw_batch(records, len(kept), base_offset=base, last_offset_delta=size - 1)
        base += size
    cuts = sorted(draw(st.sets(st.integers(0, base), max_size=8)) | {0, base})
    ranges = [
        (first, last - 1, draw(st.integers(1, 5)))
        for first, last in itertools.pairwise(cuts)
        if draw(st.booleans())
    ]
    return data, ranges or [(0, base - 1, 1)]


def finished(outbox: deque[Any]) -> list[tuple[int, int]]:
    """Return each offset that was acknowledged, and how."""
    return [(offset, kind) for _, first, last, kind in outbox for offset in range(first, last + 1)]


@given(acquisitions(), st.data(), st.booleans())
def test_every_acquired_offset_is_acknowledged_exactly_once(
    acquired: tuple[bytes, list[tuple[int, int, int]]], data: Any, is_explicit: bool
) -> None:
    buffer = ShareBuffer(lambda: None, lambda: None)
    reader = ShareReader(buffer, Deserializers(None, None), lambda: 0.0, is_explicit=is_explicit)
    records = acquired_records(*acquired)
    buffer.append(records)
    expected = {o for first, last, _ in acquired[1] for o in range(first, last + 1)}
    got: list[int] = []

    def acknowledge(offset: int) -> None:
        if reader.held is not None:
            reader.hold_handed()
            kind = data.draw(st.sampled_from(list(AcknowledgeType)[:3]))
            reader.held.acknowledge(records, offset, kind)

    is_empty = False
    while not is_empty:
        if data.draw(st.booleans()):
            spans, _ = reader.take(data.draw(st.integers(1, 6)))
            if data.draw(st.booleans()):
                reader.is_under_way = bool(spans)  # interrupted: the application got nothing
                reader.go_back()
                continue
            reader.is_under_way = False
            is_empty = not spans
            taken = [one.offset for span in spans for one in span]
            for offset in data.draw(st.permutations(taken)):
                acknowledge(offset)
        else:
            taken = []
            is_empty = not reader.open_span()
            if not is_empty:
                for _ in range(data.draw(st.integers(0, 5))):
                    one = reader.next_record()
                    if one is None:
                        break
                    taken.append(one.offset)
                    acknowledge(one.offset)
        got += taken
    reader.finish()

    assert got == sorted(set(got))
    assert set(got) <= expected
    offsets = [offset for offset, _ in finished(buffer.outbox)]
    assert sorted(offsets) == sorted(expected)
