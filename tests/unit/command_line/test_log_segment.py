from __future__ import annotations

import io

from pyk.command_line.disk.lines import Problem
from pyk.command_line.disk.log_segment import read_segment
from support.record_batches import sealed


def test_a_segment_that_shrinks_while_it_is_read_raises() -> None:
    one, other = sealed(b"one"), sealed(b"other", base_offset=1)

    first, problem = read_segment(io.BytesIO(one + other[:20]), len(one + other))

    assert not isinstance(first, Problem)
    assert problem == Problem(f"position {len(one)}: the file became shorter while it was read")
