"""A broker in memory that lets a client do what ACLs allow, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from pyk.protocol.acls import (
    CLUSTER_NAME,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message, Struct
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.config.broker_config import STANDARD_AUTHORIZER
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.handlers.authorization.access import Access
from pyk.reference_broker.handlers.authorization.authorization import check
from pyk.reference_broker.handlers.authorization.call import Call
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.handlers.table import handler
from pyk.reference_broker.security.acls import Acl
from pyk.reference_broker.security.principal import Principal
from support.running_brokers import running_broker

ALICE = "User:alice"
INTERNAL_TOPICS = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)
REFUSALS = frozenset(code for code in ErrorCode if code.name.endswith("AUTHORIZATION_FAILED"))

Right = tuple[AclOperation, ResourceType, str]
"""An operation that alice may do, the type of a resource and its name."""


def on_cluster(operation: AclOperation) -> Right:
    return operation, ResourceType.CLUSTER, CLUSTER_NAME


class AuthorizedBroker:
    """What alice asks of a broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._last_id = 0
        authorizer = broker.services.authorizer
        assert authorizer is not None
        self._access = Access(authorizer, Principal("alice"), "127.0.0.1")

    def allow(self, *rights: Right) -> None:
        """Add ACLs for alice."""
        for operation, kind, name in rights:
            self.add_acl(operation, kind, name)

    def disallow(self, *rights: Right) -> None:
        """Remove the ACLs that allow this."""
        acls = self.broker.image.acls
        for acl_id, acl in tuple(acls.by_id.items()):
            if (acl.operation, acl.resource_type, acl.resource_name) in rights:
                acls.remove(acl_id)

    def add_acl(
        self,
        operation: AclOperation,
        kind: ResourceType,
        name: str,
        permission: AclPermissionType = AclPermissionType.ALLOW,
    ) -> None:
        acls = self.broker.image.acls
        acl = Acl(
            resource_type=kind,
            resource_name=name,
            pattern_type=PatternType.LITERAL,
            principal=ALICE,
            host="*",
            operation=operation,
            permission_type=permission,
        )
        self._last_id += 1
        acls.add(UUID(int=self._last_id), acl)

    async def ask(self, request: Message, version: int | None = None) -> Any:
        """Return what alice is answered."""
        return await self.begin(request, version)

    def begin(self, request: Message, version: int | None = None) -> Awaitable[Any]:
        """Hand in a request of alice; return what awaits the answer."""
        api_key = ApiKey(request.api_key)
        context = RequestContext(
            version=request.versions.highest if version is None else version,
            client_id="test",
            client_host="/127.0.0.1",
            principal=self._access.principal,
            access=self._access,
        )
        call = Call(
            api_key=api_key,
            services=self.broker.services,
            request=request,
            context=context,
            access=self._access,
            handle=handler(api_key),
        )
        return _value_of(check(call))


async def _value_of(result: HandlerResult) -> Any:
    return await value_of(result) if isinstance(result, Deferred) else result


@asynccontextmanager
async def authorized_broker(**config: object) -> AsyncIterator[AuthorizedBroker]:
    """Run a broker with the topic ``orders``, those of groups and transactions, and no ACLs."""
    given = {
        "authorizer_class_name": STANDARD_AUTHORIZER,
        "super_users": "User:ANONYMOUS",  # the broker itself
        "offsets_topic_num_partitions": 1,
        "transaction_state_log_num_partitions": 1,
        "transaction_two_phase_commit_enable": True,
        **config,
    }
    async with running_broker(**given) as broker:
        for topic in INTERNAL_TOPICS:
            await value_of(broker.services.topics.auto_create(topic))
        yield AuthorizedBroker(broker)


def codes(answer: Any) -> list[ErrorCode]:
    """Return all error codes in a response, in its order, without those for no error."""
    return [code for code in _codes(answer) if code]


def refusals(answer: Any) -> set[ErrorCode]:
    """Return the codes in a response that refuse access."""
    return REFUSALS.intersection(codes(answer))


def _codes(value: Any) -> Iterator[ErrorCode]:
    if isinstance(value, list):
        for each in value:
            yield from _codes(each)
    elif isinstance(value, Struct):
        for field in value.fields:
            found = getattr(value, field.name)
            if field.name.endswith("error_code"):
                yield ErrorCode(found)
            else:
                yield from _codes(found)
