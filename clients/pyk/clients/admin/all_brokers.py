"""Ask all brokers of a cluster for their parts of a list.

A broker that dies leaves the cluster after some seconds, and others take over what it had: groups
and transactions move to new coordinators. Those may have answered before, so then all that are left
are asked again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import Placement, ToAnyNode
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, SeveralErrors

R = TypeVar("R")


class BrokerLeftError(KafkaError):
    """A broker that was asked is not one of the cluster any more. Never reaches a user."""


class ToBrokers(ToAnyNode):
    """To the brokers that the items name, for as long as they are in the cluster."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._version = client.metadata.version

    async def place(self, items: Sequence[int], deadline: float) -> Placement:
        metadata, placement = self._client.metadata, Placement()
        # What the client knew before may be older than the response that named the brokers.
        is_newer = metadata.version > self._version
        for node_id in items:
            has_left = is_newer and node_id not in metadata.nodes
            placement.put(node_id, BrokerLeftError() if has_left else node_id)
        return placement


async def from_all_brokers(
    calls: Calls, ask: Callable[[int, float], Awaitable[list[R]]], timeout: float | None
) -> list[R]:
    """Return what all brokers answer, in one list; ``ask`` asks one, until a deadline."""
    deadline = await calls.begin(timeout)

    async def ask_one(node_id: int, _: Sequence[int]) -> dict[int, Any]:
        return {node_id: await ask(node_id, deadline)}

    while True:
        response = await calls.metadata((), calls.remaining(deadline))
        node_ids = [one.node_id for one in response.brokers]
        try:
            found = await calls.settle(node_ids, ToBrokers(calls.client), ask_one, deadline)
        except BrokerLeftError:
            continue
        except SeveralErrors as several:
            if not any(isinstance(one, BrokerLeftError) for one in several.errors.values()):
                raise
            continue
        return [one for some in found.values() for one in some]
