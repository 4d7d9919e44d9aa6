"""Ranges of records that have the same delivery state, and how new ones replace old ones. Pure.

Where two ranges overlap, the higher delivery count wins, and with the same count the higher state:
a record is never delivered less often than before, and what is acknowledged stays so. Neighbours
with the same count and state become one range.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

UNCHANGED = -1


class StateBatch(NamedTuple):
    """The records from ``first_offset`` to ``last_offset``, which is included.

    The order of the fields is the order of ranges.
    """

    first_offset: int
    last_offset: int
    delivery_count: int
    delivery_state: int

    @property
    def delivery(self) -> tuple[int, int]:
        return self.delivery_count, self.delivery_state


def combine(
    known: Iterable[StateBatch], changed: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """Return all ranges without overlaps, those before ``start_offset`` left out.

    They are divided as Kafka divides them: neighbours stay two if the first had no neighbour of the
    same state when it was looked at.
    """
    left = [_from(batch, start_offset) for batch in (*known, *changed)]
    left = [batch for batch in left if batch.first_offset <= batch.last_offset]
    if len(left) < 2:
        return tuple(left)
    heapify(left)
    combined: list[StateBatch] = []
    batch = heappop(left)
    while left:
        following = heappop(left)
        if _can_merge(batch, following):
            for part in _merged(batch, following):
                heappush(left, part)
            batch = heappop(left)
        else:
            combined.append(batch)
            batch = following
    return (*combined, batch)


def _from(batch: StateBatch, start_offset: int) -> StateBatch:
    if batch.first_offset >= start_offset:  # also if that is UNCHANGED
        return batch
    return batch._replace(first_offset=start_offset)


def _can_merge(batch: StateBatch, following: StateBatch) -> bool:
    if following.first_offset <= batch.last_offset:
        return True
    is_neighbour = following.first_offset == batch.last_offset + 1
    return is_neighbour and batch.delivery == following.delivery


def _merged(batch: StateBatch, following: StateBatch) -> Iterable[StateBatch]:
    """Return what two ranges become, of which ``following`` does not begin before ``batch``."""
    last_offset = max(batch.last_offset, following.last_offset)
    if batch.delivery == following.delivery:
        return (batch._replace(last_offset=last_offset),)
    parts: tuple[StateBatch, ...]
    if following.delivery < batch.delivery:
        parts = batch, following._replace(first_offset=batch.last_offset + 1)
    else:
        before = batch._replace(last_offset=following.first_offset - 1)
        after = batch._replace(first_offset=following.last_offset + 1)
        parts = before, following, after
    return [part for part in parts if part.first_offset <= part.last_offset]
