"""Measure the latency of single records, and the CPU that this process used for them."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles


class Samples:
    """Collects microseconds, and counts user + system CPU seconds from :meth:`start` on."""

    def __init__(self) -> None:
        self.microseconds: list[float] = []
        self._cpu = 0.0
        self._pacing = 0.0

    def start(self) -> None:
        self._cpu = _cpu_seconds()

    @contextmanager
    def pacing(self, records: int) -> Iterator[None]:
        """Measure the CPU of waiting for the time of a record, which is not work of a client."""
        before = _cpu_seconds()
        yield
        self._pacing = (_cpu_seconds() - before) / records

    def report(self, case: str, records: int) -> None:
        """Print p50 and p99 and the CPU for each of ``records`` records, as one JSON line."""
        result: dict[str, object] = {
            "case": case,
            "records": records,
            "cpu_microseconds": ((_cpu_seconds() - self._cpu) / records - self._pacing) * 1e6,
        }
        if self.microseconds:
            percentiles = quantiles(self.microseconds, n=100, method="inclusive")
            result |= {"p50_microseconds": percentiles[49], "p99_microseconds": percentiles[98]}
        print(json.dumps(result), flush=True)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
