"""ListGroups lists all groups of a broker, or says that some of them cannot be read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.coordinator.shards import Shards
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.groups import list_groups
from pyk.reference_broker.shard_kinds import SHARD_KINDS
from support.groups import GROUP, Groups, MemoryShardLog, Waiting
from support.running_brokers import context
from support.shards import broker_environment

FIRST, SECOND = (TopicPartition(GROUP_METADATA_TOPIC, number) for number in range(2))


@attrs.frozen
class Services:
    """What the handler uses of a broker."""

    shards: Shards
    image: Any = None


@pytest.fixture
def services() -> Services:
    config = BrokerConfig()
    return Services(Shards(SHARD_KINDS, lambda: config, lambda: UUID(int=1), broker_environment()))


def log_with_a_group() -> MemoryShardLog:
    groups = Groups()
    groups.commit(OffsetToCommit(topic="orders", partition=0, offset=5))
    return groups.log


def load(services: Services, partition: TopicPartition, log: MemoryShardLog) -> None:
    for _ in services.shards.load(partition, log, lambda _: UUID(int=1)):
        pass


def listed(services: Services) -> Waiting:
    result = list_groups(services, ListGroupsRequest(), context(4))
    if isinstance(result, Deferred):
        return Waiting(result)
    done: Deferred[Any] = Deferred()
    done.complete(result)
    return Waiting(done)


def names(waiting: Waiting) -> list[str]:
    return [group.group_id for group in waiting.response.groups]


def test_groups_of_all_shards_are_listed(services: Services) -> None:
    load(services, FIRST, log_with_a_group())
    load(services, SECOND, MemoryShardLog())

    response = listed(services)

    assert response.error == ErrorCode.NONE
    assert names(response) == [GROUP]


def test_a_shard_that_is_being_loaded_makes_the_client_ask_again(services: Services) -> None:
    load(services, FIRST, log_with_a_group())
    loading = services.shards.load(SECOND, log_with_a_group(), lambda _: UUID(int=1))
    next(loading)

    assert listed(services).error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    for _ in loading:
        pass
    assert listed(services).error == ErrorCode.NONE


def test_a_shard_whose_log_has_failed_is_not_left_out_silently(services: Services) -> None:
    log = log_with_a_group()
    load(services, FIRST, log)
    load(services, SECOND, MemoryShardLog())
    log.hold()
    log.append([(None, b"")], 0)
    log.failure = ErrorCode.KAFKA_STORAGE_ERROR

    response = listed(services)

    assert response.error == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_shard_that_is_given_up_meanwhile_is_left_to_the_next_broker(services: Services) -> None:
    log = log_with_a_group()
    load(services, FIRST, log)
    log.hold()
    log.append([(None, b"")], 0)
    response = listed(services)
    assert not response.is_answered

    services.shards.unload(FIRST)

    assert response.error == ErrorCode.NONE
    assert names(response) == []
