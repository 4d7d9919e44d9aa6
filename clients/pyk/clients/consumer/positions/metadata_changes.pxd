cimport cython

from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions cimport AssignedPartitions
from pyk.clients.consumer.positions.positions cimport Positions


@cython.final
cdef class MetadataChanges:
    cdef AssignedPartitions _partitions
    cdef Positions _positions
    cdef long long _compared_version
    @cython.locals(assigned=AssignedPartition)
    cpdef apply(self, image)
