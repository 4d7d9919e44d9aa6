"""Kill, stop and cut real processes, and check what they saw: ``python -m chaos MINUTES``.

Two more arguments: the seed and the broker. Producers, groups, a share group, and transactions in
three stages run against a cluster, each client in a process of its own, through proxies that lose
responses. The broker is ``reference`` (one node of pyk's own) or ``apache`` (three nodes of Apache
Kafka, whose leaders move). It prints how many operations there were, what went wrong, what groups
did, and the anomalies by class; the exit status is 1 if there are any.
"""

from __future__ import annotations

import signal
import sys

from .nodes import BROKERS, why_not
from .run import Chaos


def main(minutes: float, seed: int, broker: str) -> int:
    """Return the exit status."""
    if broker not in BROKERS:
        print(f"unknown broker {broker!r}: BROKER is {' or '.join(BROKERS)}")
        return 2
    if reason := why_not(broker):
        print(f"skipped: {reason}")
        return 0
    # Processes that were started end with the stack that owns them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"== chaos: {minutes:g} minutes, seed {seed}, {BROKERS[broker]}", flush=True)
    chaos = Chaos(seed, broker)
    report = chaos.run(minutes * 60)
    faults = ", ".join(f"{kind} {count}" for kind, count in sorted(chaos.faults.items()))
    not_once = chaos.not_processed_once
    operations = sum(sum(outcomes.values()) for outcomes in report.operations.values())
    print(f"operations: {operations}")
    print(f"{report}\nrecords that stages did not process exactly once: {dict(not_once) or 0}")
    print(chaos.groups)
    print(f"faults: {faults}\nhistory: {chaos.history_file}")
    is_sound = report.is_sound and not report.unread and not not_once
    return 0 if is_sound and not chaos.groups.anomalies else 1


if __name__ == "__main__":
    minutes, seed, broker = (*sys.argv[1:], *("10", "1", "reference")[len(sys.argv) - 1 :])
    sys.exit(main(float(minutes), int(seed), broker))
