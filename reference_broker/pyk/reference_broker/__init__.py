"""A Kafka broker in readable Python: for development, tests, conformance and learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyk.protocol.version import __version__ as __version__

if TYPE_CHECKING:
    from pyk.runtime.simulation import World
    from pyk.runtime.virtual_time import DeadlockError

    from .blocking_cluster import Cluster
    from .cluster import AsyncCluster

__all__ = ["AsyncCluster", "Cluster", "DeadlockError", "World"]

_MODULES = {
    "AsyncCluster": f"{__name__}.cluster",
    "Cluster": f"{__name__}.blocking_cluster",
    "DeadlockError": "pyk.runtime.virtual_time",
    "World": "pyk.runtime.simulation",
}


def __getattr__(name: str) -> Any:
    """Import the clusters on first use: parts of the broker are used without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
