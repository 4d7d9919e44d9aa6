cimport cython

from pyk.clients.consumer.buffer.partition_buffer cimport OpenSpan, PartitionBuffer
from pyk.clients.consumer.buffer.read_buffer cimport ReadBuffer


@cython.final
cdef class FetchBuffer(ReadBuffer):
    cdef public bint wants_room
    cdef object lock
    cdef object _on_records
    @cython.locals(span=OpenSpan, in_hand=cython.longlong)
    cpdef tuple finished(self, PartitionBuffer partition)
    cpdef tell_of_records(self, fetch)
    cdef enqueue(self, PartitionBuffer partition)
    cdef interrupt(self, PartitionBuffer partition)
