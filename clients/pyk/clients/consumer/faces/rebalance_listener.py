"""Let an application react when partitions are assigned, revoked or lost."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.clients.consumer.group.actions import ApplicationEvent


class RebalanceListener:
    """Callbacks about a rebalance; override those that you need. Each gets a sorted list.

    The methods run inside ``poll`` and iteration: in the thread of the application that uses a
    :class:`Consumer`, in the task that awaits an :class:`AsyncConsumer`. They may use the consumer,
    for instance to seek and to commit. Those of an :class:`AsyncConsumer` may be coroutines. The
    ``poll`` during which a method raises passes the error on; the rebalance goes on.
    """

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> Awaitable[None] | None:
        """Called with partitions that are new to this member, before their first record."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> Awaitable[None] | None:
        """Called with partitions that are revoked; finished records are committed, and may still
        be."""

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> Awaitable[None] | None:
        """Called with partitions that another member may own already: nothing can be committed."""


def check_listener(listener: RebalanceListener | None) -> None:
    """Raise ``TypeError`` for an object that is not a rebalance listener."""
    if listener is None:
        return
    if isinstance(listener, type):
        name = listener.__name__
        raise TypeError(f"listener {name} is the class itself: give an object, {name}()")
    methods = (name for name in vars(RebalanceListener) if name.startswith("on_"))
    missing = [name for name in methods if not callable(getattr(listener, name, None))]
    if missing:
        raise TypeError(
            f"the listener has no {', '.join(missing)}: derive its class from RebalanceListener, "
            "and override what you need"
        )


def tell_listener(listener: RebalanceListener | None, event: ApplicationEvent) -> object:
    """Call the method of a listener, if there is one; return what it returns."""
    if listener is None:
        return None
    from pyk.clients.consumer.group.actions import Assign, Lose, Revoke

    match event:
        case Assign():
            return listener.on_partitions_assigned(sorted(event.added))
        case Revoke():
            return listener.on_partitions_revoked(sorted(event.partitions))
        case Lose():
            return listener.on_partitions_lost(sorted(event.partitions))
