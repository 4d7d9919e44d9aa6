"""Offsets that have a name, and offsets that were looked up. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from pyk.clients.timestamps import milliseconds
from pyk.runtime import slotted

FIRST_LIST_VERSION = 1
"""Version 0 of ListOffsets answers with a list of segments."""


class OffsetSpec(enum.IntEnum):
    """Offsets that have a name instead of a time."""

    LATEST = -1
    """The offset of the next record that will be written."""
    EARLIEST = -2
    """The offset of the oldest record that is still there."""
    MAX_TIMESTAMP = -3
    """The offset of the record with the highest timestamp; brokers since 3.0."""
    EARLIEST_LOCAL = -4
    """The offset of the oldest record on the disk of the leader (KIP-405); brokers since 3.4."""
    LATEST_TIERED = -5
    """The offset of the newest record in tiered storage; brokers since 3.9."""
    EARLIEST_PENDING_UPLOAD = -6
    """The offset of the oldest record that is yet to go to tiered storage; brokers since 4.2."""


SPECS = frozenset(map(int, OffsetSpec))
VERSIONS_OF_SPECS: Mapping[int, int] = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that knows each."""


def checked_time(given: Any) -> OffsetSpec | int:
    """Return a time in milliseconds, or a spec; raise ``ValueError`` for a number that is neither.

    Brokers answer such a number with UNSUPPORTED_VERSION, as if a newer broker knew it.
    """
    if isinstance(given, bool) or not isinstance(given, int):
        form = "OffsetSpec.LATEST or a time in milliseconds since 1970"
        raise TypeError(f"an offset to list must be {form}, not {given!r}")
    if given >= 0:
        return milliseconds(given, "a time to look up")
    if given in SPECS:
        return given
    specs = ", ".join(f"{spec.name} ({spec})" for spec in OffsetSpec)
    raise ValueError(
        f"an offset to list must be a time in milliseconds since 1970, or OffsetSpec.{specs}, "
        f"not {given}"
    )


@slotted.frozen
class ListedOffset:
    """An offset that was looked up."""

    offset: int
    timestamp: int | None
    """Of the record there, in milliseconds; None for LATEST and EARLIEST."""
    leader_epoch: int | None


def first_list_version(times: Iterable[OffsetSpec | int]) -> int:
    """Return the first version of ListOffsets that knows all of these offsets."""
    versions = (VERSIONS_OF_SPECS.get(int(one), FIRST_LIST_VERSION) for one in times)
    return max(versions, default=FIRST_LIST_VERSION)
