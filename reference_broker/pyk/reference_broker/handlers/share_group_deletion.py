"""Delete a share group: first its state at share coordinators, then the group."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.reference_broker.coordinator.shards import Shards
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred, gather
from pyk.reference_broker.share_persister import SharePersister

from .ask_group import ask_group


class DeleteServices(Protocol):
    """The services that deleting groups and their offsets uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def shards(self) -> Shards: ...
    @property
    def share_persister(self) -> SharePersister: ...


def delete_share_group(services: DeleteServices, group_id: str) -> Deferred[ErrorCode]:
    """Return NONE once the group is deleted, or why it is not; it can be repeated then."""
    deleted: Deferred[ErrorCode] = Deferred()

    def delete_states(found: Assignment | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            deleted.complete(found)
        else:
            delete_states_of(services, group_id, found).when_done(delete_group, deleted)

    def delete_group(errors: dict[UUID, ErrorCode]) -> None:
        refused = next(filter(None, errors.values()), ErrorCode.NONE)
        if refused:
            deleted.complete(refused)
        else:
            ask_group(
                services, group_id, lambda shard, _: shard.share_offsets.delete_group(group_id)
            ).when_done(deleted.complete, deleted)

    ask_group(
        services, group_id, lambda shard, _: shard.share_offsets.begin_deleting_group(group_id)
    ).when_done(delete_states, deleted)
    return deleted


def delete_states_of(
    services: DeleteServices, group_id: str, partitions: Assignment
) -> Deferred[dict[UUID, ErrorCode]]:
    """Delete the state of partitions; return the first error of each topic, NONE without one."""
    names = [(topic_id, number) for topic_id, numbers in partitions.items() for number in numbers]
    results = [
        services.share_persister.delete(SharePartitionKey(group_id, topic_id, number))
        for topic_id, number in names
    ]

    def by_topic(found: list[Any]) -> dict[UUID, ErrorCode]:
        errors = dict.fromkeys(partitions, ErrorCode.NONE)
        for (topic_id, _), result in zip(names, found, strict=True):
            errors[topic_id] = errors[topic_id] or ErrorCode(result.error_code)
        return errors

    return gather(results).then(by_topic)
