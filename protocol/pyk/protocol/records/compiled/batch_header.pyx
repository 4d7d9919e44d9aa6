"""Read and write the header of a batch of magic 2, and its checksum.

The compiled form of ``batch_header.py``, which says what each function promises.
"""

from cpython.buffer cimport (
    PyBUF_READ,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from pyk.protocol.compiled.big_endian cimport (
    read_uint16,
    read_uint32,
    read_uint64,
    write_uint16,
    write_uint32,
    write_uint64,
)

from pyk.protocol.records.checksum import crc32c
from pyk.protocol.records.layout import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL,
    CRC_AT,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    START_BYTES,
    TRANSACTIONAL,
)

cdef Py_ssize_t _ATTRIBUTES_AT = ATTRIBUTES_AT
cdef Py_ssize_t _CRC_AT = CRC_AT
cdef Py_ssize_t _HEADER_BYTES = HEADER_BYTES
cdef Py_ssize_t _LENGTH_AT = LENGTH_AT
cdef Py_ssize_t _LENGTH_END = LENGTH_END
cdef Py_ssize_t _MAGIC_AT = MAGIC_AT
cdef Py_ssize_t _START_BYTES = START_BYTES
cdef int8_t _MAGIC = MAGIC
cdef int _COMPRESSION_MASK = COMPRESSION_MASK
cdef int _LOG_APPEND_TIME = LOG_APPEND_TIME
cdef int _TRANSACTIONAL = TRANSACTIONAL
cdef int _CONTROL = CONTROL


cdef class BatchHeader:
    cpdef bint read(self, data, Py_ssize_t position) except -1:
        """Take the header at ``position``, which is 0 or more; False where not even its magic is
        there."""
        cdef Py_buffer view
        cdef Py_ssize_t left
        cdef const uint8_t *at
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        left = view.len - position
        if position < 0 or left < _START_BYTES:
            PyBuffer_Release(&view)
            return False
        at = <const uint8_t *>view.buf + position
        self.base_offset = <int64_t>read_uint64(at)
        self.length = <int32_t>read_uint32(at + _LENGTH_AT)
        self.magic = <int8_t>at[_MAGIC_AT]
        self.size_in_bytes = _LENGTH_END + self.length
        self.is_whole = self.magic == _MAGIC and _HEADER_BYTES <= min(left, self.size_in_bytes)
        if self.is_whole:
            self._read_rest(at)
        PyBuffer_Release(&view)
        return True

    cdef void _read_rest(self, const uint8_t *at) noexcept:
        self.partition_leader_epoch = <int32_t>read_uint32(at + _LENGTH_END)
        self.crc = read_uint32(at + _CRC_AT)
        at += _ATTRIBUTES_AT
        self.attributes = <int16_t>read_uint16(at)
        self.is_compressed = self.attributes & _COMPRESSION_MASK != 0
        self.is_append_time = self.attributes & _LOG_APPEND_TIME != 0
        self.is_transactional = self.attributes & _TRANSACTIONAL != 0
        self.is_control = self.attributes & _CONTROL != 0
        self.last_offset_delta = <int32_t>read_uint32(at + 2)
        self.base_timestamp = <int64_t>read_uint64(at + 6)
        self.max_timestamp = <int64_t>read_uint64(at + 14)
        self.producer_id = <int64_t>read_uint64(at + 22)
        self.producer_epoch = <int16_t>read_uint16(at + 30)
        self.base_sequence = <int32_t>read_uint32(at + 32)
        self.count = <int32_t>read_uint32(at + 36)


cpdef object checksum(batch):
    """Return the CRC of what it covers of ``batch``, which is one batch from its header on."""
    cdef Py_buffer view
    PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE)
    try:
        if view.len < _HEADER_BYTES:
            raise ValueError(f"a batch of {view.len} bytes has no checksum")
        return _crc_of(<const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef object _crc_of(const uint8_t *batch, Py_ssize_t size):
    """Return the CRC of a whole batch, whose memory stays where it is meanwhile."""
    return crc32c(
        PyMemoryView_FromMemory(
            <char *>batch + _ATTRIBUTES_AT, size - _ATTRIBUTES_AT, PyBUF_READ
        )
    )


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
    write_uint32(batch + _CRC_AT, <uint32_t>_crc_of(batch, size))
    return 0
