"""The hash by which Kafka's clients choose a partition from a key.

Every client must agree on it: the records of one key belong in one partition, no matter which
client wrote them.

This is the plain form; ``compiled/murmur2.pyx`` is the compiled one.
"""

from __future__ import annotations

from array import array

from murmurhash2 import murmurhash2

from pyk.protocol.records.columns import BinaryColumn
from pyk.protocol.records.layout import MAX_INT32

NO_PARTITION = -1

Buffer = bytes | bytearray | memoryview

_SEED = 0x9747B28C


def murmur2(key: Buffer) -> int:
    """Return Kafka's murmur2 hash of ``key``, as the int32 that Java shows."""
    value: int = murmurhash2(bytes(key), _SEED)
    return value - (1 << 32) if value >> 31 else value


def partition_for_key(key: Buffer, partition_count: int) -> int:
    """Return the partition, 0 to ``partition_count`` - 1, in which records with ``key`` belong."""
    _check_count(partition_count)
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


def partitions_for_keys(keys: BinaryColumn, partition_count: int) -> bytearray:
    """Return the partition of every row as int32; ``NO_PARTITION`` where the key is null."""
    _check_count(partition_count)
    partitions = array("i")
    for row in range(keys.count):
        key = keys[row]
        partitions.append(NO_PARTITION if key is None else partition_for_key(key, partition_count))
    return bytearray(partitions.tobytes())


def rows_by_partition(partitions: Buffer, partition_count: int) -> list[bytearray]:
    """Return for each partition the numbers of its rows, in order, as int32 numbers.

    Item number ``partition_count``, the last, holds the rows of ``NO_PARTITION``. Raises
    ``ValueError`` for a partition that is out of range.
    """
    _check_count(partition_count)
    rows = [array("i") for _ in range(partition_count + 1)]
    for row, partition in enumerate(memoryview(partitions).cast("B").cast("i")):
        if not NO_PARTITION <= partition < partition_count:
            raise ValueError(f"row {row} names partition {partition} of {partition_count}")
        rows[partition].append(row)
    return [bytearray(numbers.tobytes()) for numbers in rows]


def _check_count(partition_count: int) -> None:
    if not 1 <= partition_count <= MAX_INT32:
        raise ValueError(f"partition_count={partition_count}: a topic has 1 to {MAX_INT32}")
