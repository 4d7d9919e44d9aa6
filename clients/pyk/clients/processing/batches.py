"""The records of one call of a handler of ``process_batches()``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.processing.deserializing import deserialized
from pyk.clients.processing.jobs import Job
from pyk.protocol.records import RecordSpan


def records_of(members: Sequence[Job], deserializers: Deserializers) -> ConsumerRecords[Any, Any]:
    """Return the records of jobs; raise :class:`DeserializationError` if one cannot be read."""
    spans: list[RecordSpan] = []
    for span, jobs in groupby(members, key=lambda job: job.span):
        assert span is not None
        spans += _spans_of(span, list(jobs))
    if not deserializers:
        return ConsumerRecords(spans)
    return ConsumerRecords(spans, [deserialized(job.record, deserializers) for job in members])


def _spans_of(span: RecordSpan, jobs: Sequence[Job]) -> list[RecordSpan]:
    """Return the records of jobs as parts of the span that they were read in."""
    offsets = [job.offset for job in jobs]
    whole, _ = span.cut(span.origin, offsets[0], offsets[-1])
    # Those of several keys need not ascend: as many may be between, but others.
    if whole is not None and whole.count == len(offsets) and offsets == sorted(offsets):
        return [whole]
    parts = (span.cut(span.origin, offset, offset)[0] for offset in offsets)
    return [part for part in parts if part is not None]
