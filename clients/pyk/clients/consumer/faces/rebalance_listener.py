"""What an application may do when partitions come and go."""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Lose, Revoke
from pyk.clients.topic_partition import TopicPartition


class RebalanceListener:
    """Override what you need; nothing has to be done for a rebalance to work.

    The methods run inside ``poll`` and iteration: in the thread of the application that uses a
    :class:`Consumer`, in the task that awaits an :class:`AsyncConsumer`. They may use the consumer,
    to seek and to commit for instance. Those of an :class:`AsyncConsumer` may be coroutines. An
    error passes out of the ``poll`` during which it was raised; the rebalance goes on.
    """

    def on_partitions_assigned(
        self, partitions: Collection[TopicPartition]
    ) -> Awaitable[None] | None:
        """Hear of partitions that are new to this member, before the first record of them."""

    def on_partitions_revoked(
        self, partitions: Collection[TopicPartition]
    ) -> Awaitable[None] | None:
        """Hear of partitions that are given up: what is finished is committed, and may be still."""

    def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """Hear of partitions that may be another member's already: nothing can be committed."""


def check_listener(listener: RebalanceListener | None) -> None:
    """Raise ``TypeError`` for what could not be told of partitions when they come and go."""
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


def tell_listener(
    listener: RebalanceListener | None, event: ApplicationEvent
) -> Awaitable[None] | None:
    """Tell a listener, if there is one, what its group has done; return what it wants awaited."""
    if listener is None:
        return None
    match event:
        case Assign():
            return listener.on_partitions_assigned(sorted(event.added))
        case Revoke():
            return listener.on_partitions_revoked(sorted(event.partitions))
        case Lose():
            return listener.on_partitions_lost(sorted(event.partitions))
