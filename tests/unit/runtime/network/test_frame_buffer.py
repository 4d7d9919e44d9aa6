"""Memory that frames are received into."""

from __future__ import annotations

import pytest

from pyk.runtime.network.frame_buffer import grow, new_buffer


def test_a_new_buffer_has_its_size() -> None:
    assert len(new_buffer(300_000)) == 300_000


@pytest.mark.parametrize("size", [5, 100_000, 70_000_000])
def test_a_growing_buffer_keeps_its_content(size: int) -> None:
    buffer = new_buffer(4)
    buffer[:] = b"some"

    grow(buffer, size)

    assert len(buffer) == size
    assert buffer[:4] == b"some"


def test_a_buffer_with_a_view_does_not_move() -> None:
    buffer = new_buffer(4)
    with memoryview(buffer), pytest.raises(BufferError):
        grow(buffer, 1_000_000)

    assert len(buffer) == 4
