cimport cython

from pyk.clients.consumer.buffer.partition_buffer cimport PartitionBuffer
from pyk.clients.consumer.positions.progress cimport Progress


@cython.final
cdef class AssignedPartition:
    cdef readonly PartitionBuffer buffer
    cdef readonly object topic_partition
    cdef public object state
    cdef public object end
    cdef public object topic_id
    cdef public bint is_assigned_by_id
    cdef public bint is_disputed
    cdef public long long first_version
    cdef public long long noted_offset
    cdef public long long noted_end
    cdef public long long seen_version
    cdef public object leader
    cdef public long named_epoch
    cdef public object named_id
    cdef public long leader_epoch
    cdef public long fetched_epoch
    cdef public long long readable_end
    cdef public long long high_watermark
    cdef public object preferred_node
    cdef public double preferred_until
    cdef public long failures
    cdef public double retry_at
    cdef public object failing_since
    cdef public object error
    cdef public object told_at
    cdef readonly Progress progress
    cpdef succeeded(self, double now)
    cpdef ask_at_once(self)
    cpdef recovered(self)
    cpdef prefer(self, object node_id, double until)
    cpdef node_to_fetch(self, double now)
