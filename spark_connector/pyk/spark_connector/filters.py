"""What the filters of a query say about topics, partitions and offsets that need not be read.

Spark goes on to apply the filters itself, so leaving one out costs time, never a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from pyk.spark_connector.planning import OffsetRange

# For each kind of filter, the offsets that can pass: from the first to before the second.
OFFSET_BOUNDS: dict[type[Filter], Callable[[int], tuple[int | None, int | None]]] = {
    EqualTo: lambda value: (value, value + 1),
    GreaterThan: lambda value: (value + 1, None),
    GreaterThanOrEqual: lambda value: (value, None),
    LessThan: lambda value: (None, value),
    LessThanOrEqual: lambda value: (None, value + 1),
}


def narrow(ranges: Iterable[OffsetRange], filters: Iterable[Filter]) -> tuple[OffsetRange, ...]:
    """Return the parts of the ranges whose records may pass all of the filters."""
    kept = list(ranges)
    for one in filters:
        kept = [smaller for range_ in kept for smaller in _narrowed(range_, one)]
    return tuple(kept)


def _narrowed(range_: OffsetRange, one: Filter) -> Iterable[OffsetRange]:
    column = ".".join(getattr(one, "attribute", ())).lower()
    if column == "topic" and isinstance(one, EqualTo | In):
        return [range_] if range_.topic in _values(one) else []
    if column == "partition" and isinstance(one, EqualTo | In):
        return [range_] if range_.partition in _values(one) else []
    if column == "offset":
        return _clipped(range_, *_offset_bounds(one))
    return [range_]


def _values(one: EqualTo | In) -> tuple[object, ...]:
    return tuple(one.value) if isinstance(one, In) else (one.value,)


def _offset_bounds(one: Filter) -> tuple[int | None, int | None]:
    if isinstance(one, In):
        numbers = [value for value in one.value if isinstance(value, int)]
        return (min(numbers), max(numbers) + 1) if numbers else (0, 0)
    bounds = OFFSET_BOUNDS.get(type(one))
    value = getattr(one, "value", None)
    return bounds(value) if bounds is not None and isinstance(value, int) else (None, None)


def _clipped(range_: OffsetRange, first: int | None, end: int | None) -> list[OffsetRange]:
    start = range_.start if first is None else max(range_.start, first)
    end = range_.end if end is None else min(range_.end, end)
    return [range_._replace(start=start, end=end)] if start < end else []
