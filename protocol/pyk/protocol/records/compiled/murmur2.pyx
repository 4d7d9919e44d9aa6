"""The hash by which Kafka's clients choose a partition from a key.

The compiled form of ``murmur2.py``. Other compiled modules may call :func:`hash_of`.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uint32_t

from pyk.protocol.records.compiled.column_view cimport ColumnView

from pyk.protocol.records.layout import MAX_INT32

NO_PARTITION = -1

cdef uint32_t _SEED = 0x9747B28C
cdef uint32_t _M = 0x5BD1E995


cdef int32_t hash_of(const uint8_t *key, Py_ssize_t length) noexcept nogil:
    """Return the hash of ``length`` bytes."""
    cdef uint32_t value = _SEED ^ <uint32_t>length
    cdef uint32_t word
    while length >= 4:
        word = (
            key[0] | <uint32_t>key[1] << 8 | <uint32_t>key[2] << 16 | <uint32_t>key[3] << 24
        ) * _M
        value = (value * _M) ^ ((word ^ (word >> 24)) * _M)
        key += 4
        length -= 4
    if length == 3:
        value ^= <uint32_t>key[2] << 16
    if length >= 2:
        value ^= <uint32_t>key[1] << 8
    if length >= 1:
        value = (value ^ key[0]) * _M
    value = (value ^ (value >> 13)) * _M
    return <int32_t>(value ^ (value >> 15))


cdef inline int32_t _partition(int32_t value, int32_t partition_count) noexcept nogil:
    return (value & 0x7FFFFFFF) % partition_count


cpdef long murmur2(key) except? -1:
    """Return Kafka's murmur2 hash of ``key``, as the int32 that Java shows."""
    cdef Py_buffer view
    cdef int32_t value
    if PyBytes_Check(key):
        return hash_of(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    value = hash_of(<const uint8_t *>view.buf, view.len)
    PyBuffer_Release(&view)
    return value


cpdef long partition_for_key(key, long partition_count) except -1:
    """Return the partition, 0 to ``partition_count`` - 1, in which records with ``key`` belong."""
    _check_count(partition_count)
    return _partition(<int32_t>murmur2(key), <int32_t>partition_count)


def partitions_for_keys(keys, long partition_count):
    """Return the partition of every row as int32; ``NO_PARTITION`` where the key is null."""
    cdef ColumnView view = ColumnView(keys)
    cdef bytearray partitions = PyByteArray_FromStringAndSize(NULL, view.count * 4)
    cdef int32_t *at = <int32_t *>PyByteArray_AS_STRING(partitions)
    cdef const uint8_t *key = NULL
    cdef Py_ssize_t row, length
    _check_count(partition_count)
    for row in range(view.count):
        length = view.find(row, &key)
        at[row] = -1 if length < 0 else _partition(hash_of(key, length), <int32_t>partition_count)
    return partitions


def rows_by_partition(partitions, long partition_count):
    """Return for each partition the numbers of its rows, in order, as int32 numbers."""
    cdef bytes numbers = bytes(partitions)  # our own copy: it is walked twice
    cdef const int32_t *partition_of = <const int32_t *>PyBytes_AS_STRING(numbers)
    cdef Py_ssize_t count = len(numbers) // sizeof(int32_t), row, index
    cdef bytearray sizes, ends
    cdef int32_t *size_of
    cdef int32_t **end_of
    cdef list rows = []
    _check_count(partition_count)
    if len(numbers) % sizeof(int32_t):
        raise TypeError(f"{len(numbers)} bytes are no whole count of int32 numbers")
    sizes = bytearray((partition_count + 1) * sizeof(int32_t))
    ends = bytearray((partition_count + 1) * sizeof(void *))
    size_of = <int32_t *>PyByteArray_AS_STRING(sizes)
    end_of = <int32_t **>PyByteArray_AS_STRING(ends)
    for row in range(count):
        if not -1 <= partition_of[row] < partition_count:
            raise ValueError(f"row {row} names partition {partition_of[row]} of {partition_count}")
        size_of[partition_of[row] if partition_of[row] >= 0 else partition_count] += 1
    for index in range(partition_count + 1):
        one = PyByteArray_FromStringAndSize(NULL, size_of[index] * sizeof(int32_t))
        end_of[index] = <int32_t *>PyByteArray_AS_STRING(one)
        rows.append(one)
    for row in range(count):
        index = partition_of[row] if partition_of[row] >= 0 else partition_count
        end_of[index][0] = <int32_t>row
        end_of[index] += 1
    return rows


cdef int _check_count(long partition_count) except -1:
    if not 1 <= partition_count <= MAX_INT32:
        raise ValueError(f"partition_count={partition_count}: a topic has 1 to {MAX_INT32}")
    return 0
