"""Kill, stop and cut real processes, and check what they saw: ``python -m chaos MINUTES``.

Producers, a group, and transactions in three stages run against a broker, each client in a process
of its own, through a proxy that loses responses. It prints how many operations there were, what
went wrong, and the anomalies by class; the exit status is 1 if there are any.
"""

from __future__ import annotations

import sys

from .run import Chaos


def main(minutes: float, seed: int) -> int:
    """Return the exit status."""
    print(f"== chaos: {minutes:g} minutes, seed {seed}", flush=True)
    chaos = Chaos(seed)
    report = chaos.run(minutes * 60)
    faults = ", ".join(f"{kind} {count}" for kind, count in sorted(chaos.faults.items()))
    print(f"{report}\nfaults: {faults}\nhistory: {chaos.history_file}")
    return 0 if report.is_sound and not report.unread else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
