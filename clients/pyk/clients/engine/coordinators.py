"""Find the coordinator of a group or a transactional id."""

from __future__ import annotations

import enum
import logging
from typing import TYPE_CHECKING

from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.metadata import Node, checked_node
from pyk.clients.errors import KafkaError, MalformedResponseError, error_for
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode, MalformedMessageError

if TYPE_CHECKING:
    from pyk.clients.engine.client import Client
    from pyk.protocol.messages.find_coordinator import (
        Coordinator,
        FindCoordinatorRequest,
        FindCoordinatorResponse,
    )

log = logging.getLogger(__name__)

FIRST_VERSION_WITH_SEVERAL_KEYS = 4


class CoordinatorType(enum.IntEnum):
    """The kinds of keys that have a coordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class Coordinators:
    """Finds coordinators, remembers them, and forgets them when they turn out to be wrong."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[CoordinatorType, str], int] = {}

    async def find(self, kind: CoordinatorType, key: str, deadline: float) -> int:
        """Return the node id of a coordinator, from memory or by asking any broker.

        Raises the broker's error if it is not retriable, otherwise :class:`KafkaTimeoutError`.
        """
        known = self._known.get((kind, key))
        if known is not None and self._client.pool.knows(known):
            return known
        node_id = await self._client.retry(
            lambda: self._ask(kind, key, deadline), deadline, f"find the coordinator of {key!r}"
        )
        self._known[kind, key] = node_id
        log.info("%s %r is coordinated by node %d", kind.name.capitalize(), key, node_id)
        return node_id

    def forget(self, kind: CoordinatorType, key: str) -> None:
        """Forget a coordinator that has moved or cannot be reached, to ask again next time."""
        self._known.pop((kind, key), None)

    async def _ask(self, kind: CoordinatorType, key: str, deadline: float) -> int:
        from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest

        def request(version: int) -> FindCoordinatorRequest:
            if version < FIRST_VERSION_WITH_SEVERAL_KEYS:
                return FindCoordinatorRequest(key=key, key_type=kind)
            return FindCoordinatorRequest(coordinator_keys=[key], key_type=kind)

        response: FindCoordinatorResponse = await self._client.send_to_any(
            VersionedRequest(FindCoordinatorRequest, request), deadline
        )
        found = _coordinator_of(response, key)
        if found.error_code != ErrorCode.NONE:
            raise _refusal(found, kind, key)
        self._client.pool.learn(_node_of(found))
        return found.node_id


def _node_of(found: Coordinator) -> Node:
    try:
        node = checked_node(Node(found.node_id, found.host, found.port))
    except MalformedMessageError as error:
        raise MalformedResponseError(f"a coordinator that cannot be: {error}") from error
    if node.node_id < 0:
        raise MalformedResponseError(f"a coordinator cannot be broker {node.node_id}")
    return node


def _refusal(found: Coordinator, kind: CoordinatorType, key: str) -> KafkaError:
    error = error_for(found.error_code, found.error_message, api_key=ApiKey.FIND_COORDINATOR)
    if kind is CoordinatorType.GROUP:
        error.group_id = key
    else:
        error.args = (f"{error.args[0]} (transactional id {key!r})",)
    return error


def _coordinator_of(response: FindCoordinatorResponse, key: str) -> Coordinator:
    from pyk.protocol.messages.find_coordinator import Coordinator

    for coordinator in response.coordinators:
        if coordinator.key == key:
            return coordinator
    if response.coordinators:
        raise KafkaError(f"the broker named a coordinator, but not that of {key!r}")
    return Coordinator(
        key=key,
        node_id=response.node_id,
        host=response.host,
        port=response.port,
        error_code=response.error_code,
        error_message=response.error_message,
    )
