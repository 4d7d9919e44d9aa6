"""The decision of a shard about an event: records to append, and actions once they are
committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted
from pyk.runtime.timers import Moment


class ShardRecord(Protocol):
    """A record that a shard chooses to append, and replays."""

    def encode(self) -> tuple[bytes | None, bytes | None]:
        """Return key and value as they stand in the log."""


def _nobody(_: ErrorCode) -> None:
    return


@slotted.frozen
class Action:
    """Something to be done outside of the shard, such as asking another broker.

    It is done once the records of its decision are committed. ``report`` is an event of the shard:
    it is given the result, and returns what the shard decides then. An action is lost when the
    broker ends or the shard is unloaded, so a shard asks again for those that its log leaves open
    when it is loaded. It must be possible to carry them out twice.
    """

    request: Any
    """The request for the function that carries out actions of this kind of shard."""
    report: Callable[[Any, Moment], Decision]


@slotted.frozen
class TransactionalProducer:
    """The producer whose transaction the records of a decision belong to."""

    producer_id: int
    producer_epoch: int


@slotted.frozen
class Decision:
    """Records to append; ``when_written`` is told how that went.

    They go into one batch, all or none. Those of a decision that is not atomic go into as many as
    they need: each tombstone counts by itself, and what is left is decided again the next time.
    With ``replays`` the shard's state changes by replaying the records once they are in the log.
    Without, the shard has changed already (a classic group's members are soft state), and the
    records only let a successor catch up. ``actions`` begin when the records are committed.
    Records with a ``producer`` belong to its transaction: the shard replays them as pending, and
    they count when the transaction's marker says so.
    ``drops_before`` is an offset: the records before it count no more, and are removed from the log
    once those of the decision are committed.
    """

    records: Sequence[ShardRecord] = ()
    when_written: Callable[[ErrorCode], Any] = _nobody
    replays: bool = True
    is_atomic: bool = True
    actions: Sequence[Action] = ()
    producer: TransactionalProducer | None = None
    drops_before: int = 0


NOTHING = Decision()
