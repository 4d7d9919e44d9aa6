"""Which of two logs of one name counts, by the markers of moves."""

from __future__ import annotations

import pytest

from pyk.reference_broker.storage.move_marker import (
    GIVEN_UP,
    NO_MARKER,
    REPLACES,
    MoveMarker,
    counts_less,
)


@pytest.mark.parametrize(
    ("log", "other", "is_less"),
    [
        (NO_MARKER, MoveMarker(REPLACES, "1"), True),
        (NO_MARKER, MoveMarker(GIVEN_UP, "1"), False),
        (NO_MARKER, NO_MARKER, False),
        (MoveMarker(REPLACES, "1"), MoveMarker(GIVEN_UP, "1"), True),
        (MoveMarker(REPLACES, "2"), MoveMarker(GIVEN_UP, "1"), False),
        (MoveMarker(REPLACES, "1"), NO_MARKER, False),
        (MoveMarker(GIVEN_UP, "1"), MoveMarker(REPLACES, "1"), False),
        (MoveMarker(GIVEN_UP, "1"), MoveMarker(REPLACES, "2"), True),
    ],
)
def test_a_log_counts_less_than_another_by_their_markers(log, other, is_less):
    assert counts_less(log, other) is is_less
