"""Producers and a group through faults of all kinds: their histories are sound."""

from __future__ import annotations

import pytest

from pyk.runtime.virtual_time import run_virtual
from pykcheck import check
from support.recorded_groups import MEMBERS, PRODUCERS, VALUES, play_group


@pytest.mark.parametrize("seed", range(3))
def test_nothing_goes_wrong_in_a_group_with_faults(seed: int) -> None:
    recorder, nemesis = run_virtual(play_group(seed))

    report = check(recorder.history())

    assert report.anomalies == []
    assert report.unread == 0
    assert sum(report.operations["Send"].values()) == PRODUCERS * VALUES
    assert report.operations["Assign"]["ok"] > MEMBERS
    assert nemesis.counts.total() > 10


def test_the_same_seed_gives_the_same_history() -> None:
    first, _ = run_virtual(play_group(5))
    second, _ = run_virtual(play_group(5))

    assert first.events == second.events
