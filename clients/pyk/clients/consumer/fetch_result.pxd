cimport cython

from pyk.protocol.wire_numbers cimport get_int32, get_int64


@cython.final
@cython.freelist(16)
cdef class PartitionResult:
    cdef readonly object topic
    cdef readonly bytes topic_id
    cdef readonly long partition_index
    cdef readonly int error_code
    cdef readonly long long high_watermark
    cdef readonly long long last_stable_offset
    cdef readonly long preferred_read_replica
    cdef readonly long leader_id
    cdef readonly long leader_epoch
    cdef readonly list aborted_transactions
    cdef readonly object records


@cython.final
cdef class FetchResult:
    cdef readonly long throttle_time_ms
    cdef readonly long session_id
    cdef readonly int error_code
    cdef readonly list partitions
    cdef readonly object node_endpoints


@cython.locals(result=FetchResult)
cpdef FetchResult result_of(response)
@cython.locals(result=PartitionResult)
cdef PartitionResult _partition_of(topic, data)
cpdef FetchResult read_usual(frame, int version, Py_ssize_t start)


@cython.final
cdef class _Reader:
    cdef object _frame
    cdef Py_ssize_t _position
    cdef bint _is_usual

    @cython.locals(result=FetchResult, throttle_time_ms=int, has_error=bint, _=Py_ssize_t)
    cdef FetchResult result(self)
    @cython.locals(_=Py_ssize_t)
    cdef _read_topic(self, list partitions)
    @cython.locals(result=PartitionResult, size=Py_ssize_t)
    cdef _read_partition(self, list partitions, bytes topic_id)
    @cython.locals(start=Py_ssize_t)
    cdef object _take(self, Py_ssize_t size)
    @cython.locals(first=int, second=int)
    cdef bint _has_error(self) except -1
    cdef _skip_no_tags(self)
    cdef int _int32(self) except? -1
    cdef long long _int64(self) except *
    cdef int _byte(self) except -1
    @cython.locals(size=Py_ssize_t)
    cdef Py_ssize_t _count(self) except? -1
    @cython.locals(value=Py_ssize_t, shift=int, byte=int)
    cdef Py_ssize_t _varint(self) except -1
