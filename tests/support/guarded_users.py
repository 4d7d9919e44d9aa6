"""Users of brokers with an authorizer: what they may do, and what they are refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    Admin,
    AlterConfig,
    AuthorizationError,
    ClusterAuthorizationFailedError,
    ConfigResource,
    GroupAuthorizationFailedError,
    NewTopic,
    OffsetSpec,
    ResourcePattern,
    ResourceType,
    TopicAuthorizationFailedError,
    TopicPartition,
    TransactionalIdAuthorizationFailedError,
)
from support.real_time import eventually

AT_ONCE = 10.0
"""Seconds that a refusal takes at most, on a busy machine: far less than any timeout."""


@attrs.frozen
class User:
    """A user who may do nothing yet."""

    name: str
    options: dict[str, Any]
    _admin: Admin

    def may(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        self._admin.create_acls([self._acl(operation, kind, name)])

    def may_no_more(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        self._admin.delete_acls([self._acl(operation, kind, name)])

    def _acl(self, operation: AclOperation, kind: ResourceType, name: str) -> AclBinding:
        entry = AccessControlEntry(f"User:{self.name}", operation)
        return AclBinding(ResourcePattern(kind, name), entry)


def refusal(call: Callable[[], object], match: str = "") -> AuthorizationError:
    """Return the error of a call that is refused, at once, as soon as the broker knows its ACLs."""
    refused: list[AuthorizationError] = []

    def is_refused() -> bool:
        began = time.monotonic()
        try:
            call()
        except AuthorizationError as error:
            refused.append(error)
            assert time.monotonic() - began < AT_ONCE
        return bool(refused)

    eventually(is_refused)
    assert match in str(refused[0])
    return refused[0]


def once_allowed(call: Callable[[], Any]) -> Any:
    """Return what a call returns as soon as the broker knows its ACLs."""
    results: list[Any] = []

    def is_allowed() -> bool:
        try:
            results.append(call())
        except AuthorizationError:
            return False
        return True

    eventually(is_allowed)
    return results[0]


ADMIN_CALLS: dict[str, tuple[type[AuthorizationError], Callable[[Admin, str], object]]] = {
    "create_topics": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.create_topics([NewTopic(f"{name}-new")]),
    ),
    "describe_topics": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.describe_topics([name]),
    ),
    "delete_topics": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.delete_topics([name]),
    ),
    "create_partitions": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.create_partitions({name: 9}),
    ),
    "delete_records": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.delete_records({TopicPartition(name, 0): 0}),
    ),
    "list_offsets": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.list_offsets({TopicPartition(name, 0): OffsetSpec.LATEST}),
    ),
    "describe_configs": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.describe_configs([ConfigResource.topic(name)]),
    ),
    "describe_configs of a broker": (
        ClusterAuthorizationFailedError,
        lambda admin, _: admin.describe_configs([ConfigResource.broker(0)]),
    ),
    "incremental_alter_configs": (
        TopicAuthorizationFailedError,
        lambda admin, name: admin.incremental_alter_configs(
            {ConfigResource.topic(name): [AlterConfig("retention.ms", "1000")]}
        ),
    ),
    "describe_consumer_groups": (
        GroupAuthorizationFailedError,
        lambda admin, _: admin.describe_consumer_groups(["secret-group"]),
    ),
    "delete_consumer_groups": (
        GroupAuthorizationFailedError,
        lambda admin, _: admin.delete_consumer_groups(["secret-group"]),
    ),
    "list_consumer_group_offsets": (
        GroupAuthorizationFailedError,
        lambda admin, _: admin.list_consumer_group_offsets("secret-group"),
    ),
    "alter_consumer_group_offsets": (
        GroupAuthorizationFailedError,
        lambda admin, name: admin.alter_consumer_group_offsets(
            "secret-group", {TopicPartition(name, 0): 1}
        ),
    ),
    "describe_transactions": (
        TransactionalIdAuthorizationFailedError,
        lambda admin, _: admin.describe_transactions(["secret-id"]),
    ),
    "fence_producers": (
        TransactionalIdAuthorizationFailedError,
        lambda admin, _: admin.fence_producers(["secret-id"]),
    ),
    "describe_acls": (ClusterAuthorizationFailedError, lambda admin, _: admin.describe_acls()),
    "delete_acls": (
        ClusterAuthorizationFailedError,
        lambda admin, _: admin.delete_acls([AclBindingFilter()]),
    ),
}
"""Calls about a topic, by its name, or about something else, and what users without ACLs get."""
