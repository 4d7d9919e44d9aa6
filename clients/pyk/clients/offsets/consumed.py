"""What a consumer contributes to the transaction of a producer: offsets, and under which member.

Consumers and producers do not know each other. ``producer.transaction()`` works with the
``_transaction_reads`` of a consumer, which is a :class:`TransactionReads`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.runtime import slotted


@slotted.frozen
class ConsumerGroupMetadata:
    """The member of a group under which a producer commits offsets in a transaction (KIP-447).

    A generation of -1 and a member id of "" stand for a consumer that is not in the group: it has
    not joined yet, or its partitions were assigned by hand. Its offsets are not protected from
    other instances of the application.
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class TransactionOutcome(Enum):
    """What became of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    """Or it cannot be committed any more, which is the same to readers."""
    UNKNOWN = "left to the brokers"
    """The producer will not learn it. The offsets of the group tell."""


@slotted.frozen
class ConsumedOffsets:
    """The offsets up to which a consumer has handed out records, to be committed in a transaction.

    All of it is of one moment: the group gave these partitions to this member in this generation.
    """

    group_metadata: ConsumerGroupMetadata
    offsets: dict[TopicPartition, OffsetAndMetadata]
    versions: dict[TopicPartition, int]
    """The versions of the positions that the offsets come from."""


class TransactionDoubt(Protocol):
    """A consumer that hands out nothing until it is known what became of a transaction."""

    def settle(self, outcome: TransactionOutcome) -> None:
        """Let the consumer go on where the outcome says; any thread may call it."""


class TransactionReads(Protocol):
    """The part of a consumer in transactions, for the thread or task that reads it.

    ::

        mark = reads.begin()                 the transaction begins
        consumed = reads.consumed(mark)      send_offsets: what to commit
        reads.confirm(consumed)              before it is committed
        reads.committed(consumed)            the transaction is committed, or
        reads.return_to(mark)                it was aborted: its records are read again, or
        reads.doubt(mark, [consumed])        nobody knows yet

    Nothing here waits for a broker. Compare with ``==``: a consumer makes it for each use. After
    the consumer was closed, the last four do nothing, and they raise nothing while another thread
    or task is inside poll.
    """

    @property
    def is_awaited(self) -> bool:
        """Whether it is an asyncio consumer."""

    def begin(self) -> Any:
        """Return a mark of the positions to return to.

        These are before the records that were handed out and not committed, also if they were
        handed out before the transaction began.
        """

    def consumed(self, mark: Any) -> ConsumedOffsets:
        """Return the offsets after what was handed out and not committed.

        Raises :class:`CommitFailedError` if some of it was handed out from partitions that the
        group took away since: another member reads it again, so the transaction must be aborted.
        """

    def confirm(self, consumed: ConsumedOffsets) -> None:
        """Raise :class:`CommitFailedError` if a topic of these offsets was deleted meanwhile: the
        transaction must be aborted, or a topic of that name may get the offset of the former one.
        """

    def committed(self, consumed: ConsumedOffsets) -> None:
        """Record that a transaction has committed these offsets."""

    def warn_of_missing_offsets(self, mark: Any) -> None:
        """Warn, once, if records were handed out since the mark: nothing has committed them."""

    def doubt(self, mark: Any, consumed: Sequence[ConsumedOffsets]) -> TransactionDoubt | None:
        """Stop handing out records until the returned object is settled; None if it is closed.

        A seek of the application ends the doubt about a partition.
        """

    def return_to(self, mark: Any) -> None:
        """Seek to the mark where records were handed out since, or the position was set.

        Partitions that were assigned since go back to where they began; partitions that were
        revoked stay where they are, at another member. Paused partitions stay paused.
        """
