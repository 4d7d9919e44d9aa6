"""Compare the records of a topic with those that a test expects, and tell how they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyk.protocol.records import ConsumerRecord
from pyk.runtime import slotted

from .record_notation import WrittenRecord, fields_of

ExpectedRecord = WrittenRecord | Callable[[ConsumerRecord], object]
"""What a record must be, as far as it is named; or a function that says whether it is meant."""

MOST_LINES = 20


@slotted.frozen
class Comparison:
    """The result of a comparison."""

    matched: list[ConsumerRecord]
    missing: list[ExpectedRecord]
    others: list[ConsumerRecord]
    """Records that were not expected."""

    def is_met(self, *, exactly: bool) -> bool:
        return not self.missing and not (exactly and self.others)


class Expectation:
    """The records that a topic should have. Raises ``TypeError`` for what is not a record.

    With one partition they are expected in this order, with several in any. An expected record
    takes the first record that fits.
    """

    def __init__(self, topic: str, expected: Sequence[ExpectedRecord]) -> None:
        self._topic = topic
        self._expected = [(each, _test_of(each)) for each in expected]

    def compare(self, records: Sequence[ConsumerRecord], *, is_ordered: bool) -> Comparison:
        matched: list[ConsumerRecord] = []
        missing: list[ExpectedRecord] = []
        left, start = list(records), 0
        for written, fits in self._expected:
            found = next((at for at in range(start, len(left)) if fits(left[at])), None)
            if found is None:
                missing.append(written)
                continue
            matched.append(left.pop(found))
            start = found if is_ordered else 0
        return Comparison(matched, missing, left)

    def failure(
        self,
        comparison: Comparison,
        records: Sequence[ConsumerRecord],
        *,
        exactly: bool,
        is_ordered: bool,
        seconds: float,
        exists: bool = True,
    ) -> str:
        """Return what to tell about a comparison that is not met."""
        order = " in this order" if is_ordered and len(self._expected) > 1 else ""
        summary = (
            f"{self._topic!r} did not get the expected records{order} within {seconds:g} s: "
            f"{len(comparison.missing)} of {len(self._expected)} missing, "
            f"{len(comparison.others)} others"
        )
        lines = [summary if exists else f"{summary} (there is no such topic)"]
        lines += _listed("missing", map(_written, comparison.missing))
        if exactly:
            lines += _listed("not expected", map(_shown, comparison.others))
        lines += _listed(f"all {len(records)} records", map(_shown, records))
        return "\n".join(lines)


def _test_of(expected: ExpectedRecord) -> Callable[[ConsumerRecord], object]:
    if callable(expected):
        return expected
    fields = fields_of(expected)
    if "timestamp_ms" in fields:
        fields["timestamp"] = fields.pop("timestamp_ms")
    return lambda record: all(getattr(record, name) == fields[name] for name in fields)


def _written(expected: ExpectedRecord) -> str:
    return _shown(expected) if isinstance(expected, ConsumerRecord) else repr(expected)


def _shown(record: ConsumerRecord) -> str:
    shown: dict[str, Any] = {"key": record.key, "value": record.value}
    if record.headers:
        shown["headers"] = record.headers
    fields = ", ".join(f"{name}={value!r}" for name, value in shown.items())
    return f"partition {record.partition} offset {record.offset}: {fields}"


def _listed(title: str, shown: map[str]) -> list[str]:
    lines = [f"    {line}" for line in shown]
    if not lines:
        return []
    rest = len(lines) - MOST_LINES
    more = [f"    … and {rest} more"] if rest > 0 else []
    return [f"  {title}:", *lines[:MOST_LINES], *more]
