"""Strategies that divide the partitions of subscribed topics among the members of a group."""

from pyk.clients.consumer.group.assignors.range import RangeAssignor
from pyk.clients.consumer.group.assignors.round_robin import RoundRobinAssignor
from pyk.clients.consumer.group.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from pyk.clients.consumer.group.subscription import (
    Assignment,
    Assignor,
    RebalanceProtocol,
    Subscription,
    TopicLayout,
)

__all__ = [
    "Assignment",
    "Assignor",
    "CooperativeStickyAssignor",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "StickyAssignor",
    "Subscription",
    "TopicLayout",
]
