"""Transactions in three stages through faults of all kinds: their histories are sound."""

from __future__ import annotations

import pytest

from pyk.runtime.virtual_time import run_virtual
from pykcheck import check
from support.recorded_chains import play_chain
from support.recorded_transactions import STAGES, not_processed_once


@pytest.mark.parametrize("seed", range(3))
def test_every_stage_processes_every_record_once_in_spite_of_faults(seed: int) -> None:
    recorder, nemesis = run_virtual(play_chain(seed))

    report = check(recorder.history())

    assert report.anomalies == []
    assert report.unread == 0
    assert report.transactions["committed"] > 10 * STAGES
    assert report.transactions["aborted"] > 0
    assert not not_processed_once(recorder.events)
    assert nemesis.counts.total() > 5


def test_a_chain_that_reads_what_is_not_committed_is_found() -> None:
    recorder, _ = run_virtual(play_chain(2, reads="read_uncommitted", seconds=8))

    assert "G1a aborted read" in check(recorder.history()).counts


def test_the_same_seed_gives_the_same_history() -> None:
    first, _ = run_virtual(play_chain(3, seconds=8))
    second, _ = run_virtual(play_chain(3, seconds=8))

    assert first.events == second.events
