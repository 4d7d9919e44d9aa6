"""The assignment under which a record was handed out. Pure.

A partition may go to another member and come back, all in the background, while the application
still works on records that it got before. Those belong to an assignment that is over: another
member has read on from there, so no caller may commit their offsets any more.
"""

from __future__ import annotations

from uuid import UUID

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted


@slotted.define(eq=False)
class Assignment:
    """One partition from the moment it is assigned until it is taken away, or is of another topic.

    Every record carries the assignment under which it was handed out. Used on the event loop only,
    except for the reference that records hold.
    """

    topic_partition: TopicPartition
    is_lost: bool = False
    """The group has taken the partition away. It may be back, in another assignment."""
    topic_id: UUID | None = None
    """The topic of its records, None with brokers without topic ids. One that was deleted and
    created again is another topic, which gets none of their offsets."""
    consumer: object = None
    """What tells the consumer that hands the records out from others."""
