"""All kinds of shards: an internal topic more is a line here, and the module it names."""

from __future__ import annotations

from .coordinator.group.kind import GROUPS

SHARD_KINDS = (GROUPS,)
