cimport cython

from pyk.clients.consumer.buffer.fetch_writer cimport FetchWriter
from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition


@cython.final
cdef class Positions:
    cdef FetchWriter _writer
    cdef object _policy
    cdef object _backoff
    cdef object _chance
    cdef dict _assigned
    cdef object _saved
    cdef long long _followed_version
    cdef bint _has_news
    cpdef list all(self)
    @cython.locals(assigned=AssignedPartition)
    cpdef follow(self, image)
    @cython.locals(assigned=AssignedPartition)
    cpdef AssignedPartition current(self, object topic_partition, long long version)
    cdef _compare_again(self, AssignedPartition assigned)
