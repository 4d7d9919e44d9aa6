"""What a handler returns to be written. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.runtime import slotted


@slotted.frozen
class ProducerRecord:
    """A record to write: the arguments of ``Producer.send``."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = slotted.field(default=None, kw_only=True)
    headers: Any = slotted.field(default=None, kw_only=True)
    timestamp_ms: int | None = slotted.field(default=None, kw_only=True)


Results = ProducerRecord | Iterable[ProducerRecord] | None
"""What a handler of ``process(…, producer=…)`` returns."""


def results_of(returned: Any) -> tuple[ProducerRecord, ...]:
    """Return the records to write; raise for anything else that a handler returns."""
    if returned is None:
        return ()
    if isinstance(returned, ProducerRecord):
        return (returned,)
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise _not_a_record(returned)
    records = tuple(returned)
    for record in records:
        if not isinstance(record, ProducerRecord):
            raise _not_a_record(record)
    return records


def _not_a_record(returned: object) -> TypeError:
    return TypeError(
        "with producer=, a handler returns a ProducerRecord, several of them, or None, not "
        f"{type(returned).__name__}"
    )
