"""Measure what a client feels of another that floods the broker.

``python -m benchmarks.latency.neighbour [--seconds N]``

A victim sends a record at a steady rate and waits for each acknowledgement: alone, beside a client
that floods, and beside the same client under a quota. The broker, the flood and the victim are
processes of their own. Prints the 50th and the 99th percentile of the victim's milliseconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import quantiles

from benchmarks.broker.__main__ import reference_broker
from pyk.clients import (
    Admin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    NewTopic,
    OffsetSpec,
    Producer,
    TopicPartition,
)

FLOOD, VICTIM = "flood", "victim"
QUOTA = 1_000_000
"""Bytes per second that the flood may produce."""
RECORDS_PER_SECOND = 100
VALUE = b"x" * 1000


def flood(bootstrap: str) -> None:
    """Produce as fast as the broker lets us, until the end of this process."""
    with Producer(bootstrap, client_id=FLOOD, linger_ms=5) as producer:
        while True:
            producer.send(FLOOD, VALUE)


def waits_of_victim(bootstrap: str, seconds: float) -> list[float]:
    """Return the milliseconds until each record was acknowledged."""
    waits = []
    with Producer(bootstrap, client_id=VICTIM, linger_ms=0) as producer:
        producer.send_and_wait(VICTIM, VALUE)
        due = time.perf_counter()
        for _ in range(int(seconds * RECORDS_PER_SECOND)):
            due += 1 / RECORDS_PER_SECOND
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            producer.send_and_wait(VICTIM, VALUE)
            waits.append((time.perf_counter() - began) * 1000)
    return waits


def measure(admin: Admin, bootstrap: str, what: str, seconds: float) -> float:
    """Print the percentiles of one measurement and the rate of the flood; return the 99th."""
    began, flooded = time.perf_counter(), _flooded(admin)
    waits = waits_of_victim(bootstrap, seconds)
    rate = (_flooded(admin) - flooded) * len(VALUE) / 1e6 / (time.perf_counter() - began)
    hundredths = quantiles(waits, n=100)
    print(
        f"{what:<28} p50 {hundredths[49]:7.2f} ms   p99 {hundredths[98]:7.2f} ms   "
        f"flood {rate:6.2f} MB/s",
        flush=True,
    )
    return hundredths[98]


def _flooded(admin: Admin) -> int:
    """Return how many records of the flood there are."""
    partition = TopicPartition(FLOOD, 0)
    return admin.list_offsets({partition: OffsetSpec.LATEST})[partition].offset


def compare(bootstrap: str, seconds: float, warm_up: float) -> None:
    """Measure the victim alone, beside the flood, and beside the flood under a quota."""
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(FLOOD, 1), NewTopic(VICTIM, 1)])
        alone = measure(admin, bootstrap, "alone", seconds)
        command = [sys.executable, "-m", "benchmarks.latency.neighbour", "--flood", bootstrap]
        with subprocess.Popen(command) as process:
            try:
                time.sleep(2)
                free = measure(admin, bootstrap, "beside a flood", seconds)
                entity = ClientQuotaEntity({"client-id": FLOOD})
                admin.alter_client_quotas(
                    ClientQuotaAlteration(entity, {"producer_byte_rate": QUOTA})
                )
                time.sleep(warm_up)
                held = measure(
                    admin, bootstrap, f"beside it, held to {QUOTA / 1e6:g} MB/s", seconds
                )
            finally:
                process.kill()
    print(f"p99 beside the flood: {free / alone:.1f} times that alone; held: {held / alone:.1f}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks.latency.neighbour")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=12.0)
    parser.add_argument("--flood", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.flood:
        flood(options.flood)
    with reference_broker() as broker:
        compare(broker.bootstrap, options.seconds, options.warm_up)
    return 0


if __name__ == "__main__":
    sys.exit(main())
