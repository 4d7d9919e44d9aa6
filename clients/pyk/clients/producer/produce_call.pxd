cimport cython

from pyk.clients.producer.batch cimport ProducerBatch


@cython.final
cdef class ProduceCall:
    cdef readonly object node_id
    cdef readonly dict batches
    cdef dict _names
    cdef bint _lacks_topic_id

    @cython.locals(batch=ProducerBatch, topics=dict)
    cpdef request(self, acks, timeout_ms, topic_id_of)
    @cython.locals(found=dict)
    cpdef list answers(self, response)
    cdef _topic(self, name, topic_id)
