cimport cython

from pyk.clients.consumer.buffer.partition_buffer cimport OpenSpan, PartitionBuffer
from pyk.protocol.records.cursor cimport FetchedRecords


@cython.final
cdef class FetchBuffer:
    cdef readonly dict partitions
    cdef public int attention
    cdef public bint is_waiting
    cdef public bint wants_room
    cdef object lock
    cdef object queue
    cdef object on_room
    cdef object _on_data
    cdef object _on_records
    cdef long long _last_version
    @cython.locals(partition=PartitionBuffer)
    cpdef PartitionBuffer add_partition(self, object topic_partition)
    cpdef remove_partition(self, PartitionBuffer partition)
    cpdef set_position(self, PartitionBuffer partition, long long offset, long epoch)
    @cython.locals(span=OpenSpan, in_hand=cython.longlong)
    cpdef tuple finished(self, PartitionBuffer partition)
    cpdef bint append(
        self, PartitionBuffer partition, FetchedRecords fetched, object size, long long next_offset
    ) except -1
    cpdef tell_of_records(self, fetch)
    cpdef tell_if_waiting(self)
    cpdef fetch_after_reading(self, PartitionBuffer partition)
    cdef _set_error(self, PartitionBuffer partition, object error, bint lasts)
    cpdef heal(self, PartitionBuffer partition)
    cpdef pause(self, PartitionBuffer partition)
    cpdef resume(self, PartitionBuffer partition)
    cpdef hold(self, PartitionBuffer partition)
    cpdef release(self, PartitionBuffer partition)
    cdef enqueue(self, PartitionBuffer partition)
    cdef _void(self, PartitionBuffer partition)
    cdef _interrupt(self, PartitionBuffer partition)
    cdef object _next_version(self)
