cimport cython

from pyk.clients.consumer.fetching.fetch_call cimport new_wanted
from pyk.clients.consumer.fetching.fetch_memory cimport FetchMemory
from pyk.clients.consumer.buffer.partition_buffer cimport PartitionBuffer
from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions cimport AssignedPartitions


@cython.final
cdef class NodePlan:
    cdef readonly dict wanted
    cdef readonly long long held_bytes
    cdef readonly long long max_bytes
    cdef readonly bint waits_for_room
    cdef readonly bint is_hurried
    @cython.locals(buffer=PartitionBuffer)
    cpdef add(self, AssignedPartition assigned, long long max_bytes, double now)
    cpdef grant(self, long long max_bytes)


@cython.locals(plans=dict, sharing=set, is_resolving=bint, assigned=AssignedPartition, node_plan=NodePlan)
cpdef dict plan(AssignedPartitions partitions, FetchMemory memory, double now, only_node=*)
