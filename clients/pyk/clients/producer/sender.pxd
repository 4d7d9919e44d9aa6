cimport cython

from pyk.clients.producer.accumulator cimport RecordAccumulator
from pyk.clients.producer.batch cimport ProducerBatch
from pyk.clients.producer.outcome cimport conclude
from pyk.clients.producer.partition_queue cimport PartitionQueue
from pyk.clients.producer.produce_call cimport ProduceCall


@cython.final
cdef class Settlement:
    cdef readonly ProducerBatch batch
    cdef readonly long long base_offset
    cdef readonly long long log_append_time
    cdef readonly object error
    cdef readonly dict record_errors


@cython.final
cdef class Plan:
    cdef readonly list calls
    cdef readonly list settlements
    cdef readonly bint needs_producer_id
    cdef readonly bint needs_metadata
    cdef readonly double look_again_at


@cython.final
cdef class Consequences:
    cdef readonly double now
    cdef readonly list settlements
    cdef readonly dict leaders
    cdef readonly bint needs_metadata


@cython.final
cdef class Sender:
    cdef RecordAccumulator _accumulator
    cdef object _settings
    cdef double _delivery_timeout
    cdef int _max_in_flight
    cdef object _random
    cdef object _why_unsent
    cdef object _identity
    cdef dict _queues
    cdef dict _active
    cdef dict _in_flight

    @cython.locals(plan=Plan)
    cpdef Plan poll(self, double now, leader_of)
    @cython.locals(
        consequences=Consequences, queue=PartitionQueue, batch=ProducerBatch, position=Py_ssize_t
    )
    cpdef Consequences answered(self, ProduceCall call, response, double now)
    @cython.locals(consequences=Consequences, queue=PartitionQueue, batch=ProducerBatch)
    cpdef Consequences failed(self, ProduceCall call, error, double now)
    @cython.locals(batch=ProducerBatch, queue=PartitionQueue)
    cdef _take(self, double now)
    @cython.locals(queue=PartitionQueue)
    cdef PartitionQueue _queue(self, ProducerBatch batch)
    @cython.locals(queue=PartitionQueue, batch=ProducerBatch)
    cdef _expire(self, double now, Plan plan)
    cdef double _expires_at(self, ProducerBatch batch) except? -1.0
    @cython.locals(
        queue=PartitionQueue, batch=ProducerBatch, calls=dict, room=dict, call=ProduceCall, more=list
    )
    cdef list _add_round(self, list candidates, double now, leader_of, Plan plan)
    cdef ProducerBatch _sendable(self, PartitionQueue queue, node_id, double now)
    @cython.locals(
        queue=PartitionQueue, oldest=ProducerBatch, retry_at=double, earliest=double, expires_at=double
    )
    cdef double _look_again_at(self, double now) except? -1.0
    cdef _judge(
        self,
        node_id,
        PartitionQueue queue,
        ProducerBatch batch,
        answer,
        Consequences consequences,
    )
    @cython.locals(retry_at=double)
    cdef _conclude(
        self,
        PartitionQueue queue,
        ProducerBatch batch,
        verdict,
        answer,
        Consequences consequences,
    )
    cdef Settlement _give_up(self, PartitionQueue queue, ProducerBatch batch, error)
    cdef _timeout_of(self, ProducerBatch batch)


cdef list _drop_doubtful(PartitionQueue queue)
cdef Settlement _success(ProducerBatch batch, answer)
cdef Settlement _failure(ProducerBatch batch, answer)
