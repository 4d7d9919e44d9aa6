"""All connections of a client: one per node and lane, made when first needed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from pyk.clients.engine.metadata import Node
from pyk.clients.engine.node_connection import Environment, Lane, NodeConnection
from pyk.clients.engine.reachability import UnreachableNode
from pyk.clients.errors import ClosedError, NodeDisconnectedError, NodeUnavailableError
from pyk.protocol.negotiation import PeerVersions
from pyk.runtime.supervisor import GRACE_SECONDS


class ConnectionPool:
    """The nodes that are known, and the connections to them.

    Bootstrap servers are nodes with negative ids, until a response names the brokers.
    """

    def __init__(self, shared: Environment) -> None:
        servers = shared.config.bootstrap_servers
        self.bootstrap_nodes = {
            -1 - index: Node(-1 - index, server.host, server.port)
            for index, server in enumerate(servers)
        }
        self._shared = shared
        self._nodes: dict[int, Node] = {}
        self._connections: dict[tuple[int, Lane], NodeConnection] = {}

    def knows(self, node_id: int) -> bool:
        """Return whether the address of a node is known."""
        return node_id in self._nodes or node_id in self.bootstrap_nodes

    def learn(self, node: Node) -> None:
        """Remember a node that a response named, before metadata has it."""
        self.set_nodes({**self._nodes, node.node_id: node})

    def set_nodes(self, nodes: Mapping[int, Node]) -> None:
        """Replace what is known by all nodes of the cluster."""
        self._nodes = dict(nodes)
        self._shared.reachability.keep(nodes.keys())
        for (node_id, lane), connection in list(self._connections.items()):
            if node_id in nodes:
                connection.move_to(nodes[node_id])
            elif connection.is_unused:
                del self._connections[node_id, lane]

    def connection(self, node_id: int, lane: Lane) -> NodeConnection:
        """Return the connections to a node; raise :class:`NodeUnavailableError` if it is
        unknown."""
        connection = self._connections.get((node_id, lane))
        if connection is None:
            node = self._nodes.get(node_id) or self.bootstrap_nodes.get(node_id)
            if node is None:
                raise NodeUnavailableError(f"node {node_id} is not known", node_id=node_id)
            connection = NodeConnection(node, lane, self._shared)
            self._connections[node_id, lane] = connection
        return connection

    def throttled_until(self, node_id: int, lane: Lane) -> float:
        """Return when the throttle of a node ends, 0.0 if it is not throttled."""
        connection = self._connections.get((node_id, lane))
        return 0.0 if connection is None else connection.throttled_until

    def unreachable(self, node_id: int) -> UnreachableNode | None:
        """Return why a node cannot be reached, None if it is not known to be unreachable."""
        return self._shared.reachability.of(node_id)

    def unreachable_nodes(self) -> tuple[UnreachableNode, ...]:
        """Return all nodes that cannot be reached."""
        return self._shared.reachability.all()

    def versions(self, node_id: int) -> PeerVersions | None:
        """Return the API versions of a node, None before the first connection."""
        for (known_id, _), connection in self._connections.items():
            if known_id == node_id and connection.versions is not None:
                return connection.versions
        return None

    def candidates(self) -> list[int]:
        """Return the nodes for a question that any node can answer, the best one first.

        Connected ones with little to do come first, those that could not be reached lately last.
        If no node is known, these are the bootstrap servers.
        """
        chance = self._shared.random.random
        nodes = self._nodes or self.bootstrap_nodes
        return sorted(nodes, key=lambda node_id: (*self._fitness(node_id), chance()))

    def leave_nodes(self, reason: str) -> None:
        """End the connections to all known nodes, which may be those of another cluster by now.

        Otherwise what works would stay, and requests go where the metadata do not come from.
        """
        for (node_id, _), connection in list(self._connections.items()):
            if node_id not in self.bootstrap_nodes:
                error = NodeDisconnectedError(f"left node {node_id}: {reason}", node_id=node_id)
                connection.reconnect(error)

    def adopt_bootstrap(self) -> None:
        """Keep connections to bootstrap servers that are brokers of the metadata; close the
        others."""
        by_address = {(node.host, node.port): node for node in self._nodes.values()}
        for bootstrap_id, server in self.bootstrap_nodes.items():
            connection = self._connections.pop((bootstrap_id, "main"), None)
            if connection is None:
                continue
            node = by_address.get((server.host, server.port))
            if node is None or (node.node_id, "main") in self._connections:
                connection.close(ClosedError("closed the connection to a bootstrap server"))
            else:
                connection.move_to(node)
                self._connections[node.node_id, "main"] = connection

    async def close(self, reason: ClosedError, deadline: float) -> None:
        """End all connections; what was written so far is sent if the deadline allows."""
        connections = list(self._connections.values())
        for connection in connections:
            connection.close(reason)
        remaining = max(0.0, deadline - self._shared.clock.now())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(remaining):
                for connection in connections:
                    await connection.wait_closed()
            return
        for connection in connections:
            connection.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                for connection in connections:
                    await connection.wait_closed()

    def abort(self, reason: ClosedError) -> None:
        """End all connections now; what was written and not sent is lost."""
        for connection in self._connections.values():
            connection.close(reason)
            connection.abort()

    def _fitness(self, node_id: int) -> tuple[bool, bool, int]:
        connection = self._connections.get((node_id, "main"))
        if connection is None:
            return (False, True, 0)
        return (connection.is_backing_off, not connection.is_connected, connection.load)
