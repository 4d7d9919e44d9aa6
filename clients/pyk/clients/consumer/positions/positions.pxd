cimport cython

from pyk.clients.consumer.buffer.fetch_writer cimport FetchWriter
from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition


@cython.final
cdef class Positions:
    cdef FetchWriter _writer
    cdef object _policy
    cdef object _reset_name
    cdef object _backoff
    cdef object _chance
    cdef readonly object saved
    cdef public bint is_comparison_due
    cdef _compare_again(self, AssignedPartition assigned)
