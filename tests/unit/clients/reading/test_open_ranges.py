"""Ranges end when the position reaches their end, and begin later where records were deleted."""

from __future__ import annotations

from pyk.clients.reading.open_ranges import OpenRanges
from pyk.clients.topic_partition import TopicPartition

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def opened() -> OpenRanges:
    return OpenRanges({P0: (2, 10), P1: (0, 5)})


def test_a_range_is_open_until_its_end_is_reached() -> None:
    ranges = opened()

    assert ranges.advance({P0: 9, P1: 5})
    assert ranges.finish() == [P1]
    assert (bool(ranges), ranges.ends) == (True, {P0: 10})

    assert ranges.advance({P0: 12})
    assert ranges.finish() == [P0]
    assert not ranges
    assert ranges.finish() == []


def test_positions_that_do_not_move_ahead_are_no_progress() -> None:
    ranges = opened()
    ranges.advance({P0: 6})

    assert not ranges.advance({P0: 6})
    assert not ranges.advance({P0: 3})
    assert not ranges.advance({TopicPartition("orders", 2): 9})
    assert ranges.positions == {P0: 6, P1: 0}


def test_a_finished_range_makes_no_progress() -> None:
    ranges = opened()
    ranges.advance({P1: 5})
    ranges.finish()

    assert not ranges.advance({P1: 7})


def test_a_range_has_begun_once_its_position_has_moved() -> None:
    ranges = opened()
    assert not ranges.has_begun(P0)

    ranges.advance({P0: 3})

    assert ranges.has_begun(P0)
    assert not ranges.has_begun(P1)


def test_a_range_that_is_skipped_to_a_later_offset_has_not_begun() -> None:
    ranges = opened()

    ranges.skip(P0, 7)

    assert not ranges.has_begun(P0)
    assert ranges.positions[P0] == 7
    assert ranges.finish() == []

    ranges.skip(P0, 11)
    assert ranges.finish() == [P0]
