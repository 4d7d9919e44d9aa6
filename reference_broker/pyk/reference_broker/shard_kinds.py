"""All kinds of shards: an internal topic more is a line here, and the module it names."""

from __future__ import annotations

from .coordinator.group.kind import GROUPS
from .coordinator.share.kind import SHARE_STATES
from .coordinator.transaction.kind import TRANSACTIONS

SHARD_KINDS = (GROUPS, TRANSACTIONS, SHARE_STATES)
