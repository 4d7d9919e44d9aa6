"""The actions of a member of a group: requests to send, and events for the application."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted

Lane = Literal["main", "group"]

Partitions = frozenset[TopicPartition]


@slotted.frozen
class Wait:
    """Do nothing before ``until`` (monotonic seconds), or before the next event if None."""

    until: float | None


@slotted.frozen(eq=False)
class Send:
    """Send this to the coordinator, then call ``answered`` or ``request_failed``."""

    request: Any
    """A message, or a request that is built for the version of the connection."""
    timeout_ms: int
    min_version: int | None = None


@slotted.frozen
class Leave:
    """Send this to the coordinator, in ``min_version`` or later; the response is ignored."""

    request: Any
    min_version: int | None = None
    lane: Lane = "main"


@slotted.frozen
class ForgetCoordinator:
    """Look for the coordinator again before the next request."""


@slotted.frozen(eq=False)
class Assign:
    """These partitions are new; ``owned`` are all. Compared by identity, like its siblings."""

    added: Partitions
    owned: Partitions
    topic_ids: Mapping[str, UUID] = MappingProxyType({})
    """The ids by which the group assigns topics, of the added partitions; none if by name."""


@slotted.frozen(eq=False)
class Revoke:
    """The application must stop with these; then call ``revoked``."""

    partitions: Partitions


@slotted.frozen(eq=False)
class Lose:
    """These may already belong to another member: nothing of them can be committed any more."""

    partitions: Partitions


Action = Wait | Send | Leave | ForgetCoordinator | Assign | Revoke | Lose
ApplicationEvent = Assign | Revoke | Lose
