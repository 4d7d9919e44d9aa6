"""Strategies that divide the partitions of subscribed topics among the members of a group."""

from pyk.clients.consumer.group.classic.assignors.range import RangeAssignor
from pyk.clients.consumer.group.classic.assignors.round_robin import RoundRobinAssignor
from pyk.clients.consumer.group.classic.assignors.sticky import (
    CooperativeStickyAssignor,
    StickyAssignor,
)
from pyk.clients.consumer.group.classic.subscription import (
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
