"""Requests that are refused in part, and answered later or not at all."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.handlers.authorization.access import Access
from pyk.reference_broker.handlers.authorization.authorization import check
from pyk.reference_broker.handlers.authorization.call import Call
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.security.acls import Acl, Acls
from pyk.reference_broker.security.authorizer import Authorizer
from pyk.reference_broker.security.principal import Principal

ALLOWED, REFUSED = TopicProduceData(name="allowed"), TopicProduceData(name="refused")


class Handled:
    """A handler that answers later, and the requests that it was given."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answer: Deferred[Any] = Deferred()

    def __call__(self, services: Any, request: Any, context: RequestContext) -> Deferred[Any]:
        self.requests.append(request)
        return self.answer


def access() -> Access:
    acls = Acls()
    acl = Acl(
        resource_type=ResourceType.TOPIC,
        resource_name="allowed",
        pattern_type=PatternType.LITERAL,
        principal="User:alice",
        host="*",
        operation=AclOperation.WRITE,
        permission_type=AclPermissionType.ALLOW,
    )
    acls.add(UUID(int=1), acl)
    authorizer = Authorizer(acls, frozenset(), allows_without_acl=False)
    return Access(authorizer, Principal("alice"), "127.0.0.1")


def produce(handled: Handled, acks: int, *topics: TopicProduceData) -> Any:
    return check(
        Call(
            api_key=ApiKey.PRODUCE,
            services=None,
            request=ProduceRequest(acks=acks, topic_data=list(topics)),
            context=RequestContext(version=12, client_id="", client_host="/127.0.0.1"),
            access=access(),
            handle=handled,
        )
    )


def test_what_is_refused_is_added_to_an_answer_that_comes_later() -> None:
    handled = Handled()
    told: list[Any] = []

    produce(handled, -1, ALLOWED, REFUSED).when_done(told.append)
    handled.answer.complete(ProduceResponse(responses=[TopicProduceResponse(name="allowed")]))

    (response,) = told
    assert [topic.name for topic in response.responses] == ["allowed", "refused"]
    assert [[topic.name for topic in each.topic_data] for each in handled.requests] == [["allowed"]]


def test_a_client_that_wants_no_answer_is_closed_at_once_when_a_part_is_refused() -> None:
    handled = Handled()

    with pytest.raises(ConnectionClosedError):
        produce(handled, 0, ALLOWED, REFUSED)

    assert [[topic.name for topic in each.topic_data] for each in handled.requests] == [["allowed"]]
    assert handled.answer.complete(None)  # whoever completes it is not disturbed


def test_nothing_is_handled_where_everything_is_refused() -> None:
    handled = Handled()

    with pytest.raises(ConnectionClosedError):
        produce(handled, 0, REFUSED)
    response = produce(handled, 1, REFUSED)

    (topic,) = response.responses
    assert topic.name == "refused"
    assert handled.requests == []
