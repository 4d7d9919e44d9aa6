"""Laws of the records of a share group, whatever its members, its disk and its log do.

A record has one holder at a time, is delivered at most as often as the limit says, never again once
it is acknowledged, and never passed over; the start offset only moves forward.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.reference_broker.share.acknowledgement import AcknowledgeType
from support.share_group_model import ShareGroupModel

MEMBERS = ("a", "b", "c")
KINDS = tuple(AcknowledgeType)


def a_log(random: Random, *, has_gaps: bool) -> list[tuple[int, int]]:
    extents, offset = [], 0
    for _ in range(random.randint(1, 20)):
        if has_gaps and random.random() < 0.2:
            offset += random.randint(1, 5)
        last = offset + random.randint(0, 9)
        extents.append((offset, last))
        offset = last + 1
    return extents


def play(model: ShareGroupModel, random: Random, *, may_restart: bool) -> None:
    member = random.choice(MEMBERS)
    event = random.randrange(12)
    if event < 4:
        model.fetch(member, random.randint(1, 12), random.randint(1, 6), is_exact=event == 3)
    elif event < 7:
        held = model.held_by(random.choice(MEMBERS))
        some = [each for each in held if random.random() < 0.7]
        model.begin(member, {each: random.choice(KINDS) for each in some})
    elif event < 9 and model.pending:
        model.settle(random.randrange(len(model.pending)), is_stored=random.random() < 0.8)
    elif event == 9:
        model.wait(random.choice((1.0, 6.0, 11.0)))
    elif event == 10:
        model.close_session(member)
    elif random.random() < 0.2:
        model.delete_records(random.randint(0, model.extents[-1][1]) if model.extents else 0)
    elif may_restart and random.random() < 0.3:
        model.restart()


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_records_are_held_once_limited_and_never_skipped(
    seed: int, has_gaps: bool, may_restart: bool
) -> None:
    random = Random(seed)
    model = ShareGroupModel(a_log(random, has_gaps=has_gaps))

    for _ in range(80):
        play(model, random, may_restart=may_restart)

    while model.pending:
        model.settle(0, is_stored=True)
    model.drain()


@pytest.mark.parametrize("is_exact", [False, True])
def test_one_member_reads_and_accepts_all(is_exact: bool) -> None:
    model = ShareGroupModel([(0, 9), (10, 12), (13, 40)])

    model.fetch("a", 6, is_exact=is_exact)
    model.begin("a", dict.fromkeys(model.held_by("a"), AcknowledgeType.ACCEPT))
    model.settle(0, is_stored=True)
    model.drain()

    assert model.partition.start_offset == 41
    assert set(model.done) == set(range(41))
