"""The configuration of a cluster for development and tests. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from .cluster_arguments import checked_configs
from .config import InvalidConfigError

# As in Kafka's quick-start configuration: a single node cannot have three replicas, and waiting
# three seconds for members that will not come slows development. Neither should a rebalance of a
# group that the coordinator assigns wait for heartbeats, two of which it takes. To make, load and
# end the 50 partitions of each internal topic would be half of the work of many a test.
QUICK_START_CONFIG = {
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.heartbeat.interval.ms": "500",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
}


_SET_BY_ARGUMENTS = {
    "node.id": "the cluster: node 0 is the first",
    "broker.id": "the cluster: node 0 is the first",
}


def quick_start(config: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of a cluster that was given ``config``."""
    checked_configs(config, "config")
    for name, arguments in _SET_BY_ARGUMENTS.items():
        if name in config:
            raise InvalidConfigError(f"{name} is set by {arguments}", name=name)
    return {**QUICK_START_CONFIG, **config}
