"""A simulated scenario does the same in each run, in another process, with another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time
from support.group_scenario import RECORDS_WITH_FAULTS, group_scenario, play_faults

TESTS = Path(__file__).resolve().parents[1]


def trace_in_a_process(seed: int, hash_seed: int) -> list[str]:
    """Return everything that happens in a run of the scenario in a process of its own."""
    code = f"from support.group_scenario import trace; print(*trace({seed}), sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_the_hash_seed_changes_nothing_in_a_group_with_faults() -> None:
    first = trace_in_a_process(1, hash_seed=1)
    second = trace_in_a_process(1, hash_seed=2)

    differences = [pair for pair in zip_longest(first, second) if pair[0] != pair[1]]
    assert len(first) > 1000
    assert differences[:1] == []


@virtual_time
async def test_every_record_is_read_in_spite_of_the_faults() -> None:
    async with group_scenario(World(2, latency=0.001)) as scenario:
        await play_faults(scenario)

    assert len({(place, offset) for _, place, offset in scenario.received}) == RECORDS_WITH_FAULTS
