cimport cython


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Record:
    cdef readonly long long offset
    cdef readonly long long timestamp
    cdef readonly object key
    cdef readonly object value
    cdef readonly object headers


@cython.final
@cython.no_gc
cdef class RecordOrigin:
    cdef readonly object topic
    cdef readonly long partition
    cdef readonly long leader_epoch
    cdef readonly object timestamp_type
    cdef readonly object owner
    cdef readonly long delivery_count


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ConsumerRecord:
    cdef RecordOrigin _origin
    cdef readonly long long offset
    cdef readonly long long timestamp
    cdef readonly object key
    cdef readonly object value
    cdef readonly object headers


cpdef ConsumerRecord consumer_record(RecordOrigin origin, tuple fields)
cpdef object owner_of(ConsumerRecord record)
