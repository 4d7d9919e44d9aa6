"""Histories of a correct cluster are sound; whatever is done wrong in it is found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykcheck import check
from support.transaction_model import Model, Sabotage

S = Sabotage
FOUND_AS = {
    S.SKIP_A_MARKER: {"lost", "torn"},
    S.WRONG_MARKER: {"G1a aborted read"},
    S.ABORT_ONE_PARTITION: {"lost", "torn"},
    S.NO_FENCING: {"duplicated", "G0 dirty write", "G1a aborted read"},
    S.NO_BUMP_AT_THE_END: {"G1a aborted read", "G1b intermediate read", "torn"},
    S.ACCEPT_ANY_EPOCH: {"G0 dirty write", "G1a aborted read", "lost", "torn"},
    S.REUSE_A_SEQUENCE: {"shared offset"},
    S.NO_SEQUENCES: {"duplicated"},
    S.ANSWER_BEFORE_THE_APPEND: {"shared offset"},
    S.WRONG_OFFSET: {"duplicated"},
    S.OVERTAKING: {"reordered"},
    S.OTHER_PARTITION: {"invented", "lost", "torn"},
    S.LOSE_THE_TAIL: {"lost"},
    S.READ_PAST_THE_STABLE_OFFSET: {"unstable read", "G1b intermediate read"},
    S.SHOW_ABORTED: {"G1a aborted read"},
    S.SKIP_A_RECORD: {"skipped"},
    S.READ_TWICE: {"reread"},
    S.COMMIT_OFFSETS_OUTSIDE: {"stale commit"},
    S.COMMIT_AHEAD: {"stale commit"},
    S.UNSTABLE_OFFSETS: {"stale commit"},
    S.FORGET_OFFSETS: {"duplicated", "stale commit"},
    S.FORGET_TO_GO_BACK: {"stale commit"},
}
"""What shows each sabotage: one of these at least."""


@settings(max_examples=50)
@given(st.integers(min_value=0))
def test_a_correct_cluster_has_sound_histories(seed: int) -> None:
    report = check(Model(seed).run())

    assert report.anomalies == []
    assert report.unread == 0
    assert report.transactions["committed"] > 10


@pytest.mark.parametrize("sabotage", Sabotage, ids=lambda each: each.name.lower())
def test_sabotage_is_found(sabotage: Sabotage) -> None:
    histories = (Model(seed, sabotage).run() for seed in range(12))

    assert any(FOUND_AS[sabotage] & set(check(history).counts) for history in histories)


def test_the_same_seed_makes_the_same_history() -> None:
    first, second = Model(7), Model(7)
    first.run()
    second.run()

    assert first.recorder.events == second.recorder.events
