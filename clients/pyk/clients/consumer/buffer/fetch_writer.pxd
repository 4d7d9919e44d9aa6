cimport cython

from pyk.clients.consumer.buffer.fetch_buffer cimport FetchBuffer
from pyk.clients.consumer.buffer.partition_buffer cimport PartitionBuffer
from pyk.protocol.records.cursor cimport FetchedRecords


@cython.final
cdef class FetchWriter:
    cdef readonly FetchBuffer buffer
    cdef long long _last_version
    @cython.locals(partition=PartitionBuffer)
    cpdef PartitionBuffer add_partition(self, object topic_partition)
    cpdef remove_partition(self, PartitionBuffer partition)
    cpdef reassign(self, PartitionBuffer partition, object assignment)
    cpdef set_position(self, PartitionBuffer partition, long long offset, long epoch)
    cpdef bint append(
        self, PartitionBuffer partition, FetchedRecords fetched, object size, long long next_offset
    ) except -1
    cpdef fetch_after_reading(self, PartitionBuffer partition)
    cdef _set_error(self, PartitionBuffer partition, object error, bint lasts)
    cpdef heal(self, PartitionBuffer partition)
    cpdef pause(self, PartitionBuffer partition)
    cpdef resume(self, PartitionBuffer partition)
    cpdef hold(self, PartitionBuffer partition)
    cpdef release(self, PartitionBuffer partition)
    cdef _void(self, PartitionBuffer partition)
    cdef object _next_version(self)
