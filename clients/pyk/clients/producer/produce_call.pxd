cimport cython

from pyk.clients.producer.batch cimport ProducerBatch
from pyk.clients.producer.partition_queue cimport PartitionQueue
from pyk.clients.producer.produce_template cimport ProduceTemplate


@cython.final
cdef class ProduceCall:
    cdef readonly object node_id
    cdef readonly object api_key
    cdef readonly object acks
    cdef readonly object timeout_ms
    cdef readonly list queues
    cdef readonly list batches
    cdef list _topic_ids

    cpdef add(self, PartitionQueue queue, ProducerBatch batch)
    @cython.locals(batch=ProducerBatch)
    cpdef address(self, acks, timeout_ms, topic_id_of)
    @cython.locals(queue=PartitionQueue, batch=ProducerBatch, template=ProduceTemplate)
    cpdef list encode_parts(self, version, out)
    @cython.locals(found=dict, batch=ProducerBatch, position=Py_ssize_t, answers=list)
    cpdef list answers(self, response)
    @cython.locals(topics=dict, batch=ProducerBatch, position=Py_ssize_t)
    cdef _message(self, list records)
