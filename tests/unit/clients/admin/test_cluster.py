"""Calls about the cluster: who is asked, in which version, and what an error becomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import ConfigResource, ConfigResourceType, FeatureUpdate
from pyk.clients.admin import RaftVoterEndpoint
from pyk.clients.errors import (
    DuplicateVoterError,
    InvalidConfigError,
    KafkaError,
    KafkaTimeoutError,
    SeveralErrors,
    UnsupportedVersionError,
)
from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import list_config_resources, update_features
from pyk.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from pyk.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from pyk.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pyk.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from pyk.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from pyk.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from pyk.protocol.versions import NO_VERSIONS, VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered, let_control
from support.scripted_broker import CLOSE, SILENCE

DIRECTORY = UUID(int=7)
ENDPOINT = RaftVoterEndpoint("CONTROLLER", "host", 9093)
CHANGES: list[tuple[Any, Any, Callable[[Any], Awaitable[Any]]]] = [
    (
        UnregisterBrokerRequest,
        UnregisterBrokerResponse,
        lambda a: a.unregister_broker(5, timeout=2),
    ),
    (
        AddRaftVoterRequest,
        AddRaftVoterResponse,
        lambda a: a.add_raft_voter(5, DIRECTORY, [ENDPOINT], cluster_id="c", timeout=2),
    ),
    (
        RemoveRaftVoterRequest,
        RemoveRaftVoterResponse,
        lambda a: a.remove_raft_voter(5, DIRECTORY, cluster_id="c", timeout=2),
    ),
]
of_each_change = pytest.mark.parametrize(
    ("request_class", "response_class", "call"),
    CHANGES,
    ids=lambda value: getattr(value, "name", ""),
)


@of_each_change
@virtual_time
async def test_a_change_of_the_cluster_is_sent_once_and_returns_nothing(
    request_class: Any, response_class: Any, call: Any
) -> None:
    async with administered() as (cluster, admin):
        cluster.on(request_class, response_class())

        assert await call(admin) is None

        (request,) = cluster.requests(request_class)
        assert getattr(request.message, "cluster_id", "c") == "c"


@of_each_change
@virtual_time
async def test_the_error_of_a_change_is_raised_with_the_words_of_the_broker(
    request_class: Any, response_class: Any, call: Any
) -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.DUPLICATE_VOTER
        cluster.on(request_class, response_class(error_code=code, error_message="5 is one already"))

        with pytest.raises(DuplicateVoterError, match="5 is one already"):
            await call(admin)


@of_each_change
@virtual_time
async def test_a_change_without_an_answer_may_have_been_done(
    request_class: Any, response_class: Any, call: Any
) -> None:
    async with administered() as (cluster, admin):
        cluster.on(request_class, SILENCE)

        with pytest.raises(KafkaTimeoutError, match="; it may have been done") as raised:
            await call(admin)

        assert not raised.value.definite


@virtual_time
async def test_a_broker_is_unregistered_by_the_controller() -> None:
    async with administered(nodes=3) as (cluster, admin):
        await let_control(3, cluster, admin)
        cluster.on(UnregisterBrokerRequest, UnregisterBrokerResponse())

        await admin.unregister_broker(5)

        assert [one.node_id for one in cluster.requests(UnregisterBrokerRequest)] == [3]


@virtual_time
async def test_without_a_cluster_id_voters_are_changed_in_whatever_cluster_it_is() -> None:
    async with administered() as (cluster, admin):
        cluster.on(AddRaftVoterRequest, AddRaftVoterResponse())
        cluster.on(RemoveRaftVoterRequest, RemoveRaftVoterResponse())

        await admin.add_raft_voter(5, DIRECTORY, ENDPOINT)
        await admin.remove_raft_voter(5, DIRECTORY)

        requests = cluster.requests(AddRaftVoterRequest) + cluster.requests(RemoveRaftVoterRequest)
        assert [one.message.cluster_id for one in requests] == [None, None]


# -- resources that have settings ------------------------------------------------------------------


def resources(*named: tuple[int, str]) -> ListConfigResourcesResponse:
    found = [
        list_config_resources.ConfigResource(resource_type=kind, resource_name=name)
        for kind, name in named
    ]
    return ListConfigResourcesResponse(config_resources=found)


@virtual_time
async def test_config_resources_are_listed_in_order_and_by_type() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListConfigResourcesRequest, resources((32, "g"), (2, "b"), (2, "a")))

        found = await admin.list_config_resources(ConfigResourceType.TOPIC)

        with pytest.raises(TypeError, match="give a sequence of ConfigResourceType, not 5"):
            await admin.list_config_resources(5)
        assert found == [
            *(ConfigResource.topic(name) for name in "ab"),
            ConfigResource.group("g"),
        ]
        (request,) = cluster.requests(ListConfigResourcesRequest)
        assert request.message.resource_types == [2]


@virtual_time
async def test_client_metrics_are_listed_by_brokers_that_know_no_other_resources() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.LIST_CONFIG_RESOURCES] = VersionRange(0, 0)
        cluster.on(ListConfigResourcesRequest, resources((16, "m")))

        found = await admin.list_config_resources([ConfigResourceType.CLIENT_METRICS])

        assert [one.name for one in found] == ["m"]
        for types in ([], [ConfigResourceType.TOPIC, ConfigResourceType.CLIENT_METRICS]):
            with pytest.raises(UnsupportedVersionError):
                await admin.list_config_resources(types)


@virtual_time
async def test_the_error_of_a_list_of_config_resources_is_raised() -> None:
    async with administered() as (cluster, admin):
        code = ErrorCode.INVALID_CONFIG
        cluster.on(ListConfigResourcesRequest, ListConfigResourcesResponse(error_code=code))

        with pytest.raises(InvalidConfigError):
            await admin.list_config_resources()


# -- features --------------------------------------------------------------------------------------


def updated(*codes: tuple[str, int]) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(
        results=[
            update_features.UpdatableFeatureResult(feature=name, error_code=code)
            for name, code in codes
        ]
    )


@virtual_time
async def test_features_are_updated_by_the_controller_and_each_has_its_outcome() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.UPDATE_FEATURES] = VersionRange(0, 1)
        cluster.on(UpdateFeaturesRequest, updated(("a", 0), ("b", ErrorCode.INVALID_CONFIG)))

        with pytest.raises(SeveralErrors) as raised:
            await admin.update_features([FeatureUpdate("a", 1), FeatureUpdate("b", 1)])

        assert list(raised.value.errors) == ["b"]
        (request,) = cluster.requests(UpdateFeaturesRequest)
        assert request.version == 1


@virtual_time
async def test_features_are_not_updated_by_a_broker_that_would_not_only_validate() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.UPDATE_FEATURES] = VersionRange(0, 0)

        with pytest.raises(UnsupportedVersionError):
            await admin.update_features(FeatureUpdate("a", 1), validate_only=True)

        assert cluster.requests(UpdateFeaturesRequest) == []


@virtual_time
async def test_an_update_of_features_without_an_answer_may_have_been_done() -> None:
    async with administered() as (cluster, admin):
        cluster.on(UpdateFeaturesRequest, CLOSE)

        with pytest.raises(KafkaError, match="; it may have been done"):
            await admin.update_features(FeatureUpdate("a", 1), timeout=2)


# -- the cluster as older brokers tell it ----------------------------------------------------------


@virtual_time
async def test_operations_are_not_left_out_by_brokers_that_cannot_tell_them() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.DESCRIBE_CLUSTER] = NO_VERSIONS
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 7)

        described = await admin.describe_cluster()

        assert described.cluster_id == "scripted"
        assert described.authorized_operations is None
        with pytest.raises(UnsupportedVersionError):
            await admin.describe_cluster(authorized_operations=True)


@virtual_time
async def test_operations_are_told_by_the_metadata_of_brokers_before_2_8() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.DESCRIBE_CLUSTER] = NO_VERSIONS
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 8)

        def metadata(request: MetadataRequest) -> MetadataResponse:
            answer = cluster.metadata(request)
            if request.include_cluster_authorized_operations:
                answer.cluster_authorized_operations = 1 << AclOperation.ALTER
            return answer

        cluster.on(MetadataRequest, metadata)

        described = await admin.describe_cluster(authorized_operations=True)

        assert described.authorized_operations == {AclOperation.ALTER}
