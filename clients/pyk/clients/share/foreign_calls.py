"""Explain the calls of other consumers that a share consumer does not have. Pure."""

from __future__ import annotations

from typing import NoReturn

_NO_POSITION = (
    "members of a share group have no positions. Where a new group begins is its config "
    "share.auto.offset.reset; Admin.alter_share_group_offsets moves a group without members"
)
_ASSIGNED = "the coordinator assigns partitions, and several members may have the same one"
_PACE = "a poll fetches what the application asks for: poll less, or pass it max_records"
_OFFSETS = "Admin.list_offsets has the offsets of partitions"

CALLS = {
    "assign": f"{_ASSIGNED}: call subscribe(topics)",
    "assignment": f"{_ASSIGNED}: health().partitions has those of this member",
    "seek": _NO_POSITION,
    "seek_to_beginning": _NO_POSITION,
    "seek_to_end": _NO_POSITION,
    "position": _NO_POSITION,
    "committed": "Admin.list_share_group_offsets has where a group is",
    "lag": "Admin.list_share_group_offsets has where a group is, and its lag",
    "pause": _PACE,
    "resume": _PACE,
    "paused": _PACE,
    "beginning_offsets": _OFFSETS,
    "end_offsets": _OFFSETS,
    "offsets_for_times": _OFFSETS,
    "partitions_for": "Admin.describe_topics has the partitions of topics",
    "group_metadata": "acknowledgements cannot be part of a transaction",
    "enforce_rebalance": "a change of members never makes the others wait: there is no rebalance",
    "process_batches": (
        "each record is acknowledged by itself: call process(handler), or poll(), which returns "
        "batches with to_arrow()"
    ),
    "commit_sync": "call commit()",
}

ARGUMENTS = {
    "pattern": "share groups subscribe to topics by name",
    "listener": "members of share groups are not told of changes of the assignment",
    "records": (
        "it commits all that is acknowledged; with share_acknowledgement_mode='explicit' "
        "acknowledge(record) decides about one record"
    ),
    "ordering": "the records of a share group have no order",
    "producer": "acknowledgements cannot be part of a transaction",
}


def absent(consumer: object, name: str) -> AttributeError:
    """Return the error of an attribute that a share consumer does not have."""
    kind = type(consumer).__name__
    reason = f": {CALLS[name]}" if name in CALLS else ""
    return AttributeError(
        f"{kind!r} object has no attribute {name!r}{reason}", name=name, obj=consumer
    )


def refuse(call: str, argument: str) -> NoReturn:
    """Raise for an argument that the same call of other consumers takes."""
    raise TypeError(f"{call} of a share consumer takes no {argument}: {ARGUMENTS[argument]}")


def refuse_given(call: str, **given: object) -> None:
    """Raise for the first of these arguments that is not None."""
    for argument, value in given.items():
        if value is not None:
            refuse(call, argument)
