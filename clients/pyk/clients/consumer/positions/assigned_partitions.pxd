cimport cython

from pyk.clients.consumer.buffer.fetch_writer cimport FetchWriter
from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition
from pyk.clients.consumer.positions.positions cimport Positions


@cython.final
cdef class AssignedPartitions:
    cdef FetchWriter _writer
    cdef Positions _positions
    cdef object _saved
    cdef dict _assigned
    cdef readonly object consumer
    cpdef list all(self)
    @cython.locals(assigned=AssignedPartition)
    cpdef AssignedPartition current(self, object topic_partition, long long version)
