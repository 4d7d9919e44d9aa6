"""CPU and wall time of this process, from the first record to the last."""

from __future__ import annotations

import argparse
import json
import resource
import time

VALUE_BYTES = 100


class Meter:
    """Counts user + system CPU seconds of this process, all its threads, between start and stop."""

    def __init__(self) -> None:
        self.is_running = False

    def start(self) -> None:
        self.is_running = True
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def report(self, case: str, records: int) -> None:
        """Print the cost of ``records`` records as one JSON line."""
        cpu, wall = _cpu_seconds() - self._cpu, time.perf_counter() - self._wall
        million = records / 1_000_000
        result = {
            "case": case,
            "records": records,
            "cpu_seconds_per_million": cpu / million,
            "records_per_second": records / wall,
            "cores": cpu / wall,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(result), flush=True)


def values(size: int = VALUE_BYTES) -> list[bytes]:
    """Return distinct values that look like small JSON documents, each of ``size`` bytes."""
    made = []
    for n in range(10_000):
        text = f'{{"id":{n},"user":"u{n * 7919 % 10_007}","amount":{n * 31 % 977}.{n % 100:02}}}'
        made.append(text.encode().ljust(size, b"x")[:size])
    return made


def arguments(description: str, cases: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("case", choices=cases)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=VALUE_BYTES)
    parser.add_argument("--compression", default="none")
    parser.add_argument("--cafile", help="the broker's certificate authority: use TLS")
    return parser.parse_args()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
