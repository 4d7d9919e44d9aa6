"""A Kafka broker in readable Python: for development, tests, conformance and learning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.version import __version__ as __version__
from pyk.runtime.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from pyk.runtime.simulation import World
    from pyk.runtime.virtual_time import DeadlockError

    from .blocking_cluster import Cluster
    from .cluster import AsyncCluster

__all__ = ["AsyncCluster", "Cluster", "DeadlockError", "World"]

_HOMES = {
    "AsyncCluster": "cluster",
    "Cluster": "blocking_cluster",
    "DeadlockError": "pyk.runtime.virtual_time",
    "World": "pyk.runtime.simulation",
}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
