"""Compare the records that were sent with those that were read. Pure."""

from __future__ import annotations

from collections import Counter

import attrs

from examples.journey.text import Count, Counts

MAX_NAMED = 10


@attrs.frozen
class Comparison:
    """The result of a journey. It is clean if every reader got every record exactly once."""

    sent: int
    consumed: int
    spark: int
    lost: int
    duplicated: int
    faults: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        return (
            f"demo: sent={self.sent} consumed={self.consumed} spark={self.spark} "
            f"lost={self.lost} duplicated={self.duplicated}"
        )


def compare(
    sent: set[tuple[int, int]],
    read: Counter[tuple[int, int]],
    direct: Counts,
    consumed: Counts,
    spark: Counts,
) -> Comparison:
    """Compare the acknowledged records, by (partition, offset), with those of each reader."""
    lost = sent - read.keys()
    invented = read.keys() - sent
    extra = sum(times - 1 for times in read.values())
    faults = _name("never consumed: partition %d offset %d", lost)
    faults += _name("consumed but never sent: partition %d offset %d", invented)
    faults += _name(
        "consumed more than once: partition %d offset %d", {p for p, n in read.items() if n > 1}
    )
    faults += _differences("the consumer group", direct, consumed)
    faults += _differences("Spark", direct, spark)
    spark_lost = sum(_missing(direct[package], spark.get(package)) for package in direct)
    spark_extra = sum(_missing(spark[package], direct.get(package)) for package in spark)
    return Comparison(
        sent=len(sent),
        consumed=read.total(),
        spark=spark.lines,
        lost=len(lost) + spark_lost,
        duplicated=extra + len(invented) + spark_extra,
        faults=tuple(faults),
    )


def _name(text: str, offsets: set[tuple[int, int]]) -> list[str]:
    named = [text % offset for offset in sorted(offsets)[:MAX_NAMED]]
    more = len(offsets) - len(named)
    return [*named, f"… and {more} more of these"] if more > 0 else named


def _differences(reader: str, direct: Counts, counted: Counts) -> list[str]:
    return [
        f"in {package!r} {reader} counted {counted.get(package)}, directly {direct.get(package)}"
        for package in sorted(direct.keys() | counted.keys())
        if direct.get(package) != counted.get(package)
    ]


def _missing(expected: Count, found: Count | None) -> int:
    return max(0, expected.lines - (found.lines if found else 0))
