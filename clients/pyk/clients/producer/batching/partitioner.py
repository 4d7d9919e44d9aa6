"""Choose the partition of a record that does not name one. Pure.

A record with a key goes where every Kafka client would put it: to the partition of its murmur2 hash
(:func:`pyk.protocol.records.murmur2.partition_for_key`). A record without one sticks to the
partition that is being filled and moves on after each batch (KIP-480, KIP-794), so that batches
become full instead of numerous. The next partition is drawn with the odds of KIP-794: the more
unfinished batches a partition has, the less it gets, so a slow broker does not fill the producer's
buffer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import index
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from pyk.clients.producer.batching.topic_batches import TopicBatches

Partitioner = Callable[[bytes | None, Sequence[int], Sequence[int]], int]
"""A user's own choice: ``partitioner(key, all_partitions, available_partitions) -> partition``.

``key`` is the serialized key; a partition is available while it has a leader. The signature is the
one that kafka-python and aiokafka use.
"""


def next_sticky_partition(
    random: Random, available: Sequence[int], loads: Sequence[int] | None
) -> int:
    """Return the partition that is filled next.

    ``loads`` holds the unfinished batches of every partition of the topic, by partition number;
    None gives all the same odds (``partitioner.adaptive.partitioning.enable=false``).
    """
    if loads is None or len(available) == 1:
        return available[random.randrange(len(available))]
    most = max(loads[partition] for partition in available)
    weights = list(accumulate(most + 1 - loads[partition] for partition in available))
    return available[bisect_right(weights, random.randrange(weights[-1]))]


def choose_partition(partitioner: Partitioner, topic: TopicBatches, key: bytes | None) -> int:
    """Return the partition that a user's partitioner chooses.

    Raises ``TypeError`` if it does not return an int, ``ValueError`` if ``topic`` lacks that
    partition.
    """
    count = topic.partition_count
    chosen = partitioner(key, range(count), topic.available)
    try:
        number = index(chosen)
    except TypeError:
        raise TypeError(
            f"the partitioner must return a number, not {type(chosen).__name__}"
        ) from None
    if not 0 <= number < count:
        raise ValueError(
            f"the partitioner chose partition {number} of topic {topic.name!r}, which has {count}"
        )
    return number
