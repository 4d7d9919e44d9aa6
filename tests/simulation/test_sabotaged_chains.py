"""Defects planted in the code of the reference broker are found in recorded chains.

More kinds are planted in a model, in ``tests/properties/test_pykcheck.py``. Without a defect chains
are sound: see ``test_recorded_chains``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.group.offset_requests import OffsetRequests
from pyk.reference_broker.coordinator.transaction import shard
from pyk.reference_broker.partition_reader import Isolation, PartitionReader
from pyk.runtime import slotted
from pyk.runtime.virtual_time import run_virtual
from pykcheck import check
from support.recorded_chains import play_chain

SECONDS = 10
Sabotage = Callable[[pytest.MonkeyPatch], None]


def commit_what_is_aborted(patch: pytest.MonkeyPatch) -> None:
    markers_of = shard.markers_of
    patch.setattr(shard, "markers_of", lambda *of: slotted.evolve(markers_of(*of), commit=True))


def read_past_the_stable_offset(patch: pytest.MonkeyPatch) -> None:
    end_offset = PartitionReader.end_offset
    patch.setattr(
        PartitionReader,
        "end_offset",
        lambda reader, _: end_offset(reader, Isolation.READ_UNCOMMITTED),
    )


def list_no_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionReader, "aborted_transactions", lambda *_: [])


def commit_offsets_outside(patch: pytest.MonkeyPatch) -> None:
    commit = OffsetRequests.commit_in_transaction

    def commit_at_once(*arguments: Any) -> Any:
        results, decision = commit(*arguments)
        return results, Decision(decision.records)

    patch.setattr(OffsetRequests, "commit_in_transaction", commit_at_once)


# With a seed in which it shows.
SABOTAGES: tuple[tuple[Sabotage, int], ...] = (
    (commit_what_is_aborted, 0),
    (read_past_the_stable_offset, 0),
    (list_no_aborted_transactions, 0),
    (commit_offsets_outside, 1),
)


@pytest.mark.parametrize(
    ("sabotage", "seed"), SABOTAGES, ids=[each.__name__ for each, _ in SABOTAGES]
)
def test_a_planted_defect_is_found(
    sabotage: Sabotage, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch)

    recorder, _ = run_virtual(play_chain(seed, seconds=SECONDS))

    assert check(recorder.history()).anomalies
