"""Prepare a broker for the ACL matrix: topics, groups, transactions, a delegation token, ACLs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import attrs

from pyk.clients import AclBindingFilter
from pyk.clients.admin.acls import create_acls_request, describe_acls_request
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pyk.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.schema import Message
from pyk.protocol.versions import VersionRange
from support.acl_matrix.answers import codes
from support.acl_matrix.users import PUBLIC_ACLS, ROOT, Rule
from support.guarded_brokers import PASSWORD
from support.raw_client import RawClient
from support.raw_sasl import log_in_by_plain

NOT_READY = {5, 14, 15, 16, 19, 51}
"""Codes of a broker that still starts or is busy: no leader, no coordinator, another request."""
PAUSE = 0.02
PATIENCE = 500
SHARED_TOPICS = ("orders", "secrets", "public", "private")
SHARE_KEY = "any:AAAAAAAAAAAAAAAAAAAABw:0"
FIFTEEN_MINUTES_MS = 900_000
ACLS_IN_A_REQUEST = 500


@attrs.frozen
class Prepared:
    """What the requests of the matrix refer to."""

    topic_ids: Mapping[str, str]
    """Topics by name."""
    served: Mapping[ApiKey, VersionRange]


async def log_in(bootstrap: str, user: str) -> RawClient:
    """Return a connection of a user."""
    client = await RawClient(bootstrap, client_id=None).__aenter__()
    response = await log_in_by_plain(client, user, PASSWORD)
    assert response.error_code == 0, response
    return client


async def ask_until_ready(client: RawClient, request: Message, version: int) -> dict[str, Any]:
    """Return the response in its JSON form, once the broker is ready to give one."""
    for _ in range(PATIENCE):
        response: dict[str, Any] = (await client.ask(request, version)).to_json(version)
        if not codes(response) & NOT_READY:
            return response
        await asyncio.sleep(PAUSE)
    raise TimeoutError(f"{request} v{version} is still answered with {response}")


async def prepare(bootstrap: str, users: Mapping[str, list[Rule]]) -> Prepared:
    """Prepare a broker, as the super user."""
    root = await log_in(bootstrap, ROOT)
    try:
        served = await _served(root)
        topics = await _create_topics(root, users)
        for key_type in (0, 1):  # Apache Kafka creates the topics of coordinators by that
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["any"])
            await _must(root, request, 4)
        request = FindCoordinatorRequest(key_type=2, coordinator_keys=[SHARE_KEY])
        await _must(root, request, 6)
        for group in ("readers", "strangers"):
            await _must(root, _commit(group), 9)
        for transactional_id in ("payer", "stranger", "payer-open"):
            producer = await _must(root, _init(transactional_id), 5)
        await _must(root, _open_transaction(producer), 3)
        token = "none"
        if ApiKey.CREATE_DELEGATION_TOKEN in served:
            token = (await _must(root, _token_of_owner(), 3))["tokenId"]
        await _create_acls(root, users, token)
        return Prepared(topics, served)
    finally:
        await root.__aexit__()


async def _must(root: RawClient, request: Message, version: int) -> dict[str, Any]:
    response = await ask_until_ready(root, request, version)
    assert codes(response) <= {0}, response
    return response


async def _served(root: RawClient) -> dict[ApiKey, VersionRange]:
    request = ApiVersionsRequest(client_software_name="pyk", client_software_version="1")
    response = await root.ask(request, 3)
    known = {int(key) for key in ApiKey}
    return {
        ApiKey(one.api_key): VersionRange(one.min_version, one.max_version)
        for one in response.api_keys
        if one.api_key in known
    }


async def _create_topics(root: RawClient, users: Mapping[str, list[Rule]]) -> dict[str, str]:
    counts = dict.fromkeys(SHARED_TOPICS, 2) | {f"doomed-{user}": 1 for user in users}
    forever = CreatableTopicConfig(name="retention.ms", value="-1")  # the records are old
    new = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=1, configs=[forever])
        for name, count in counts.items()
    ]
    await _must(root, CreateTopicsRequest(topics=new, timeout_ms=30_000), 7)
    asked = [MetadataRequestTopic(name=name) for name in counts]
    request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    while True:
        response = (await root.ask(request, 12)).to_json(12)
        if codes(response) == {0}:
            return {topic["name"]: topic["topicId"] for topic in response["topics"]}
        await asyncio.sleep(PAUSE)


def _commit(group: str) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in ("orders", "secrets")
        ],
    )


def _init(transactional_id: str) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=FIFTEEN_MINUTES_MS
    )


def _open_transaction(producer: Mapping[str, Any]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="payer-open",
        v3_and_below_producer_id=producer["producerId"],
        v3_and_below_producer_epoch=producer["producerEpoch"],
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in ("orders", "secrets")
        ],
    )


def _token_of_owner() -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name="owner", max_lifetime_ms=-1
    )


async def _create_acls(root: RawClient, users: Mapping[str, list[Rule]], token: str) -> None:
    of_users = (
        one for user, rules in users.items() for rule in rules for one in rule.bindings(user, token)
    )
    bindings = list(dict.fromkeys([*PUBLIC_ACLS, *of_users]))
    for start in range(0, len(bindings), ACLS_IN_A_REQUEST):
        some = bindings[start : start + ACLS_IN_A_REQUEST]
        await _must(root, create_acls_request(some), 3)
    everything = describe_acls_request(AclBindingFilter())
    while True:
        response = await root.ask(everything, 3)
        if sum(len(one.acls) for one in response.resources) >= len(bindings):
            return
        await asyncio.sleep(PAUSE)


def unknown_topic_id() -> str:
    return str(uuid4())
