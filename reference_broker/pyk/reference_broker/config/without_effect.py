"""What topics may configure in Kafka and this broker only keeps and shows.

Tiered storage is disabled, as in a Kafka that is not configured for it, and one node has no
replicas whose traffic could be throttled.
"""

from __future__ import annotations

import re
from typing import Any

from pyk.reference_broker.config.definition import (
    Fallback,
    UpdateMode,
    boolean,
    long,
    strings,
)
from pyk.runtime import slotted

FROM_RETENTION = -2
_NO_EFFECT: dict[str, Any] = {"has_effect": False}
_REPLICA = re.compile(r"(?:[0-9]+:[0-9]+)?", re.ASCII)


def _are_replicas(listed: str) -> bool:
    return listed == "*" or all(_REPLICA.fullmatch(each) for each in listed.split(","))


def _throttled(which: str) -> Any:
    return strings(
        check=_are_replicas,
        doc=f"Of which replicas the traffic of {which} is throttled: PARTITION:BROKER,… or *.",
        **_NO_EFFECT,
    )


def _broker(name: str) -> dict[str, Any]:
    return {"fallbacks": (Fallback(name=name),), **_NO_EFFECT}


@slotted.frozen(kw_only=True)
class TopicConfigWithoutEffect:
    """The configurations of topics that have no effect, a part of those of a topic."""

    follower_replication_throttled_replicas: tuple[str, ...] = _throttled("followers")
    leader_replication_throttled_replicas: tuple[str, ...] = _throttled("leaders")
    local_retention_bytes: int = long(
        FROM_RETENTION,
        minimum=FROM_RETENTION,
        doc="The size above which segments that were copied away are deleted here.",
        **_broker("log.local.retention.bytes"),
    )
    local_retention_ms: int = long(
        FROM_RETENTION,
        minimum=FROM_RETENTION,
        doc="After how long segments that were copied away are deleted here.",
        **_broker("log.local.retention.ms"),
    )
    remote_log_copy_disable: bool = boolean(
        False, doc="Whether no more segments are copied away.", **_NO_EFFECT
    )
    remote_log_delete_on_disable: bool = boolean(
        False, doc="Whether the end of tiered storage deletes what was copied.", **_NO_EFFECT
    )
    remote_storage_enable: bool = boolean(
        False, doc="Whether segments are copied to tiered storage.", **_NO_EFFECT
    )


@slotted.frozen(kw_only=True)
class BrokerConfigWithoutEffect:
    """The defaults of these configurations, a part of those of a broker."""

    log_local_retention_bytes: int = long(
        FROM_RETENTION,
        minimum=FROM_RETENTION,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="The default of local.retention.bytes.",
        **_NO_EFFECT,
    )
    log_local_retention_ms: int = long(
        FROM_RETENTION,
        minimum=FROM_RETENTION,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="The default of local.retention.ms.",
        **_NO_EFFECT,
    )
