"""Look up where logs start and end, and which offsets moments mean in them."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients import Admin, OffsetSpec, TopicPartition
from pyk.command_line.moments import Moment


def log_ranges(
    client: Admin, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the log start and the log end of partitions."""
    chosen = list(partitions)
    starts = _listed(client, chosen, OffsetSpec.EARLIEST)
    ends = _listed(client, chosen, OffsetSpec.LATEST)
    return {one: (starts[one] or 0, ends[one] or 0) for one in chosen}


def offsets_at(
    client: Admin, partitions: Iterable[TopicPartition], moment: Moment
) -> dict[TopicPartition, int]:
    """Return the offsets that a moment means in partitions."""
    ranges = log_ranges(client, partitions)
    at_times: dict[TopicPartition, int | None] = {}
    if moment.time_ms is not None:
        at_times = _listed(client, ranges, moment.time_ms)
    return {
        one: moment.resolve(start, end, at_times.get(one)) for one, (start, end) in ranges.items()
    }


def _listed(
    client: Admin, partitions: Iterable[TopicPartition], time: OffsetSpec | int
) -> dict[TopicPartition, int | None]:
    found = client.list_offsets(dict.fromkeys(partitions, time))
    return {one: None if listed is None else listed.offset for one, listed in found.items()}
