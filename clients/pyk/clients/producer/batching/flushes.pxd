cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch


@cython.final
cdef class FlushRequest:
    cdef readonly set remaining
    cdef readonly object wake


@cython.final
cdef class Flushes:
    cdef readonly list requests

    @cython.locals(request=FlushRequest)
    cpdef settled(self, ProducerBatch batch, list wakes)
