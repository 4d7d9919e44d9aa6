"""Defects planted in the broker and in the clients are found in the histories of chains."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyk.runtime.virtual_time import run_virtual
from pykcheck import check
from support.recorded_chains import play_chain
from support.sabotage import FOUND_AS, Patch

SEEDS = (8, 1, 4, 5, 7, 6, 9, 3, 2, 0)
"""First those that showed most defects when this was written."""
SECONDS_OF_FAULTS = 12


@pytest.mark.parametrize("sabotage", FOUND_AS, ids=lambda each: each.__name__)
def test_a_planted_defect_is_found(
    sabotage: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch.setattr)

    assert any(FOUND_AS[sabotage] & _anomalies(seed) for seed in SEEDS)


def _anomalies(seed: int) -> set[str]:
    recorder, _ = run_virtual(play_chain(seed, seconds=SECONDS_OF_FAULTS, must_catch_up=False))
    return set(check(recorder.history()).counts)
