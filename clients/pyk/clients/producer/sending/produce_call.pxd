cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.sending.node_traffic cimport NodeTraffic
from pyk.clients.producer.sending.partition_queue cimport PartitionQueue
from pyk.clients.producer.sending.produce_template cimport ProduceTemplate, ProduceTerms
from pyk.protocol.connection cimport SelfCodedRequest


# Not final: Cython would refuse to let it override the methods of its base.
cdef class ProduceCall(SelfCodedRequest):
    cdef readonly NodeTraffic node
    cdef readonly list queues
    cdef readonly list batches
    cdef readonly object within
    cdef ProduceTerms _terms

    cdef _begin(self, NodeTraffic node, ProduceTerms terms)
    cpdef add(self, PartitionQueue queue, ProducerBatch batch)
    @cython.locals(queue=PartitionQueue, batch=ProducerBatch, template=ProduceTemplate)
    cpdef list encode_parts(self, version, bytearray out)
    @cython.locals(
        queue=PartitionQueue, batch=ProducerBatch, template=ProduceTemplate, number=int
    )
    cpdef object read_response(self, frame, version, Py_ssize_t start)
    @cython.locals(found=dict, batch=ProducerBatch, position=Py_ssize_t, answers=list)
    cpdef list answers(self, response)
    @cython.locals(topics=dict, batch=ProducerBatch)
    cdef _message(self)


@cython.locals(call=ProduceCall)
cpdef ProduceCall new_call(NodeTraffic node, ProduceTerms terms)
