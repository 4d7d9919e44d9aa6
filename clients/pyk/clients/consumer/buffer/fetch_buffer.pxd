cimport cython

from pyk.clients.consumer.buffer.partition_buffer cimport OpenSpan, PartitionBuffer


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
    @cython.locals(span=OpenSpan, in_hand=cython.longlong)
    cpdef tuple finished(self, PartitionBuffer partition)
    cpdef tell_of_records(self, fetch)
    cpdef tell_if_waiting(self)
    cdef enqueue(self, PartitionBuffer partition)
    cdef interrupt(self, PartitionBuffer partition)
