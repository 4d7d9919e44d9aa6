cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.sending.node_traffic cimport NodeTraffic
from pyk.clients.producer.sending.produce_template cimport ProduceTemplate
from pyk.clients.producer.sending.sequences cimport PartitionSequence


@cython.final
cdef class PartitionQueue:
    cdef readonly object topic_partition
    cdef public PartitionSequence sequence
    cdef readonly object queued
    cdef public ProducerBatch due
    cdef readonly list unsettled
    cdef readonly int in_flight
    cdef readonly int node_id
    cdef public bint has_gap
    cdef public bint must_restart
    cdef public ProduceTemplate template
    cdef public long image_number
    cdef public NodeTraffic leader
    cdef public object topic_id
    cdef public object last_topic_id
    cdef public bint is_active
    cdef public bint was_served

    cpdef bint is_idle(self)
    @cython.locals(batch=ProducerBatch)
    cpdef ProducerBatch oldest(self)
    @cython.locals(batch=ProducerBatch)
    cpdef double retry_at(self) except? -1.0
    cpdef bint is_ready_to_restart(self) except -1
    @cython.locals(batch=ProducerBatch)
    cpdef bint restart(self, identity) except -1
    @cython.locals(first=ProducerBatch)
    cpdef ProducerBatch next_batch(self, double now, int node_id, int max_in_flight)
    cpdef send(self, ProducerBatch batch, int node_id)
    @cython.locals(overtaken=ProducerBatch, position=Py_ssize_t)
    cpdef settle(self, ProducerBatch batch)
    cpdef keep(self, ProducerBatch batch, double retry_at)
    cpdef drop(self, ProducerBatch batch)
    @cython.locals(sent=ProducerBatch)
    cdef bint _is_unsettled(self, ProducerBatch batch) except -1
    cdef _came_back(self, ProducerBatch batch)
    @cython.locals(batch=ProducerBatch)
    cdef bint _is_calm(self) except -1
    cdef _begin(self, ProducerBatch batch)
    cdef _leave(self, ProducerBatch batch)
