from libc.stdint cimport uint8_t


cdef class BatchHeader:
    cdef readonly long long base_offset
    cdef readonly long length
    cdef readonly long long size_in_bytes
    cdef readonly long partition_leader_epoch
    cdef readonly int magic
    cdef readonly bint is_whole
    cdef readonly unsigned long crc
    cdef readonly int attributes
    cdef readonly bint is_compressed
    cdef readonly bint is_append_time
    cdef readonly bint is_transactional
    cdef readonly bint is_control
    cdef readonly long last_offset_delta
    cdef readonly long long base_timestamp
    cdef readonly long long max_timestamp
    cdef readonly long long producer_id
    cdef readonly int producer_epoch
    cdef readonly long base_sequence
    cdef readonly long count
    cpdef bint read(self, data, Py_ssize_t position) except -1
    cdef void _read_rest(self, const uint8_t *at) noexcept


cpdef object checksum(batch)
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
) except -1
