"""The cluster as the admin client describes it. Pure."""

from __future__ import annotations

import attrs

from pyk.clients.engine.metadata import Node


@attrs.frozen
class ClusterDescription:
    """The cluster and its brokers."""

    cluster_id: str | None
    controller_id: int | None
    """The broker to which administrative requests go."""
    nodes: tuple[Node, ...]
