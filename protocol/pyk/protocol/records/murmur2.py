"""The hash by which Kafka's clients choose a partition from a key.

Every client must agree on it: records of one key belong in one partition, whoever wrote them.
"""

from __future__ import annotations

from murmurhash2 import murmurhash2

_SEED = 0x9747B28C


def murmur2(key: bytes) -> int:
    """Return Kafka's murmur2 hash of ``key``, as the int32 that Java shows."""
    value: int = murmurhash2(key, _SEED)
    return value - (1 << 32) if value >> 31 else value


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the partition, 0 to ``partition_count`` - 1, in which records with ``key`` belong."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
