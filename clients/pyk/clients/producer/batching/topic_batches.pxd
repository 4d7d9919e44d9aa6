cimport cython


@cython.final
cdef class TopicBatches:
    cdef readonly str name
    cdef readonly int partition_count
    cdef readonly list available
    cdef readonly list topic_partitions
    cdef readonly list open_batches
    cdef readonly list loads
    cdef public double used_at
    cdef public bint is_forgotten
    cdef public int sticky_partition
    cdef public Py_ssize_t sticky_bytes
