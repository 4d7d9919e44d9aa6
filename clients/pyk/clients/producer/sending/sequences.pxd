cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch


@cython.final
cdef class PartitionSequence:
    cdef public bint is_known
    cdef public bint needs_new_producer_id
    cdef readonly long long producer_id
    cdef public int epoch
    cdef public long long next_sequence

    cpdef bint is_numbered(self) noexcept
    cpdef start(self, identity)
    cpdef bint can_restart(self) except -1
    cpdef restart(self)
    cpdef stamp(self, ProducerBatch batch)
    cpdef roll_back(self, ProducerBatch batch)


@cython.locals(following=cython.longlong)
cpdef long long sequence_after(ProducerBatch batch) except? -1
