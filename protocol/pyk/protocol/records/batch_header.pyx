"""Write the header of a batch of magic 2, and its checksum.

The compiled form of ``batch_header.py``, which says what each function promises.
"""

from cpython.buffer cimport (
    PyBUF_READ,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport uint8_t, uint32_t

from pyk.protocol.wire_numbers cimport read_uint32, write_uint16, write_uint32, write_uint64

from pyk.protocol.records.checksum import crc32c
from pyk.protocol.records.layout import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_END,
    MAGIC,
)

cdef Py_ssize_t _ATTRIBUTES_AT = ATTRIBUTES_AT
cdef Py_ssize_t _CRC_AT = CRC_AT
cdef Py_ssize_t _HEADER_BYTES = HEADER_BYTES
cdef Py_ssize_t _LENGTH_AT = LENGTH_AT
cdef Py_ssize_t _LENGTH_END = LENGTH_END
cdef uint8_t _MAGIC = MAGIC


cpdef int write_header(
    bytearray data,
    short attributes,
    int last_offset_delta,
    long long base_timestamp,
    long long max_timestamp,
    long long producer_id,
    short producer_epoch,
    int base_sequence,
    int count,
) except -1:
    """Write the header of the batch that is all of ``data``; offset 0, leader epoch -1."""
    cdef Py_ssize_t size = len(data)
    cdef uint8_t *at = <uint8_t *>PyByteArray_AS_STRING(data)
    if size < _HEADER_BYTES:
        raise ValueError(f"a batch header does not fit in {size} bytes")
    at = write_uint64(at, 0)
    at = write_uint32(at, <uint32_t>(size - _LENGTH_END))
    at = write_uint32(at, <uint32_t>-1)
    at[0] = _MAGIC
    at = write_uint32(at + 1, 0)
    at = write_uint16(at, attributes)
    at = write_uint32(at, last_offset_delta)
    at = write_uint64(at, base_timestamp)
    at = write_uint64(at, max_timestamp)
    at = write_uint64(at, producer_id)
    at = write_uint16(at, producer_epoch)
    at = write_uint32(at, base_sequence)
    write_uint32(at, count)
    return _write_crc(<uint8_t *>PyByteArray_AS_STRING(data), size)


def set_crc(data not None):
    """Set the CRC of the batch in ``data``, which may be followed by other bytes."""
    cdef Py_buffer view
    cdef Py_ssize_t end
    PyObject_GetBuffer(data, &view, PyBUF_WRITABLE)
    try:
        end = _HEADER_BYTES
        if view.len >= end:
            end = <int>read_uint32(<uint8_t *>view.buf + _LENGTH_AT) + _LENGTH_END
        if not _HEADER_BYTES <= end <= view.len:
            raise ValueError(f"a batch of {end} bytes in {view.len} bytes has no checksum")
        _write_crc(<uint8_t *>view.buf, end)
    finally:
        PyBuffer_Release(&view)


cdef int _write_crc(uint8_t *batch, Py_ssize_t size) except -1:
    """Set the CRC of a whole batch, whose memory stays where it is meanwhile."""
    covered = PyMemoryView_FromMemory(
        <char *>batch + _ATTRIBUTES_AT, size - _ATTRIBUTES_AT, PyBUF_READ
    )
    write_uint32(batch + _CRC_AT, <uint32_t>crc32c(covered))
    return 0
