"""Run a broker, a producer and three group members in virtual time; print how fast time passes.

    PYTHONPATH=tests python -m benchmarks.simulation [--seconds 300] [--rate 10] [--profile]

The last column is virtual seconds per second of CPU time, once the group is stable.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import time

from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import run_virtual
from support.group_scenario import group_scenario

RATES = (0.0, 1.0, 10.0)


async def simulate(seconds: float, rate: float, profile: cProfile.Profile | None) -> float:
    """Return the CPU seconds that a group takes to live for so long."""
    async with group_scenario(World(latency=0.001)) as scenario:
        await scenario.produce(10, 10)
        if profile is not None:
            profile.enable()
        began_at = time.process_time()
        if rate:
            await scenario.produce(seconds, rate)
        else:
            await asyncio.sleep(seconds)
        taken = time.process_time() - began_at
        if profile is not None:
            profile.disable()
        return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="virtual seconds to live")
    parser.add_argument("--rate", type=float, action="append", help="records a second, or 0")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    arguments = parser.parse_args()
    for rate in arguments.rate or RATES:
        profile = cProfile.Profile() if arguments.profile else None
        taken = run_virtual(simulate(arguments.seconds, rate, profile))
        print(f"{rate:5.0f} records/s  {arguments.seconds / taken:6.0f} times real time")
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
