cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.batching.buffer_waits cimport call_all
from pyk.clients.producer.batching.mutex cimport Mutex
from pyk.clients.producer.batching.open_batches cimport OpenBatches


@cython.final
cdef class BatchDrain:
    cdef Mutex mutex
    cdef OpenBatches _batches

    cpdef tuple take(self, double now)
    cpdef double next_linger_end(self) except? -1.0
    cpdef bint close(self, ProducerBatch batch) except -1
    cpdef release(self, ProducerBatch batch)
    cpdef bint has_full_batches(self)
    cpdef bint has_unfinished(self)
