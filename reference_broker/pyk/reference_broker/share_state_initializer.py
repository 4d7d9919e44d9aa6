"""Initializes the state of share groups at share coordinators, for group coordinators."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from .coordinator.group.consumer.assignment import Assignment
from .coordinator.group.share.initialization import InitializedStates, InitializeStates
from .coordinator.share.share_partition import SharePartitionKey
from .deferred import Deferred, gather
from .share_persister import SharePersister


def initialize_states(
    persister: SharePersister, asked: InitializeStates
) -> Deferred[InitializedStates]:
    """Return which partitions have a state now."""
    names = names_of(asked)
    return ask_for_states(persister, asked, names).then(partial(initialized_of, names))


def ask_for_states(
    persister: SharePersister, asked: InitializeStates, names: list[tuple[UUID, int]]
) -> Deferred[list[Any]]:
    """Return the result of each partition."""
    return gather(
        [
            persister.initialize(
                SharePartitionKey(asked.group_id, topic_id, number),
                asked.state_epoch,
                asked.start_offsets[topic_id][number],
            )
            for topic_id, number in names
        ]
    )


def names_of(asked: InitializeStates) -> list[tuple[UUID, int]]:
    """Return the partitions, by topic id and number."""
    return [
        (topic_id, number)
        for topic_id, numbers in asked.start_offsets.items()
        for number in numbers
    ]


def initialized_of(names: list[tuple[UUID, int]], results: list[Any]) -> InitializedStates:
    """Return which partitions have a state now, by the results of all."""
    done: dict[UUID, set[int]] = {}
    failed: dict[UUID, set[int]] = {}
    for (topic_id, number), result in zip(names, results, strict=True):
        outcome = failed if result.error_code else done
        outcome.setdefault(topic_id, set()).add(number)
    return InitializedStates(done=_assignment(done), failed=_assignment(failed))


def _assignment(partitions: dict[UUID, set[int]]) -> Assignment:
    return {topic_id: frozenset(numbers) for topic_id, numbers in partitions.items()}
