cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.batching.batch_drain cimport BatchDrain
from pyk.clients.producer.sending.node_traffic cimport NodeTraffic
from pyk.clients.producer.sending.outcome cimport conclude
from pyk.clients.producer.sending.partition_queue cimport PartitionQueue
from pyk.clients.producer.sending.plan cimport Plan, ResponseEffects, new_effects, new_plan
from pyk.clients.producer.sending.produce_call cimport ProduceCall, new_call
from pyk.clients.producer.sending.produce_template cimport ProduceTerms


@cython.final
cdef class SendPlanner:
    cdef object _new_builder
    cdef BatchDrain _drain
    cdef object _settings
    cdef ProduceTerms _terms
    cdef double _delivery_timeout
    cdef int _max_in_flight
    cdef Py_ssize_t _max_request_size
    cdef object _random
    cdef object _why_unsent
    cdef readonly object identity
    cdef dict _queues
    cdef list _active
    cdef dict _nodes
    cdef object _routes
    cdef long _image_number
    cdef double _expires_at
    cdef object _drop_error

    @cython.locals(node=NodeTraffic)
    cpdef bint is_busy(self) except -1
    @cython.locals(plan=Plan, candidates=list)
    cpdef Plan poll(self, double now, routes)
    @cython.locals(
        effects=ResponseEffects, queue=PartitionQueue, batch=ProducerBatch, position=Py_ssize_t
    )
    cpdef ResponseEffects answered(self, ProduceCall call, response, double now)
    @cython.locals(effects=ResponseEffects, queue=PartitionQueue, batch=ProducerBatch)
    cpdef ResponseEffects failed(self, ProduceCall call, error, double now)
    @cython.locals(batch=ProducerBatch, queue=PartitionQueue)
    cdef _take(self, double now)
    @cython.locals(queue=PartitionQueue)
    cdef PartitionQueue _queue(self, ProducerBatch batch)
    @cython.locals(queue=PartitionQueue, batch=ProducerBatch)
    cdef _expire(self, double now, Plan plan)
    cdef double _expires(self, ProducerBatch batch) noexcept
    @cython.locals(queue=PartitionQueue, more=list, planned_before=Py_ssize_t)
    cdef list _add_round(self, list candidates, double now, Plan plan)
    @cython.locals(batch=ProducerBatch, node=NodeTraffic, call=ProduceCall)
    cdef bint _add_batch(self, PartitionQueue queue, double now, Plan plan) except -1
    @cython.locals(node=NodeTraffic)
    cdef ProducerBatch _next_batch(self, PartitionQueue queue, double now, Plan plan)
    cdef bint _restart(self, PartitionQueue queue, Plan plan) except -1
    cdef bint _look_up(self, PartitionQueue queue) except -1
    @cython.locals(call=ProduceCall)
    cdef ProduceCall _new_call(self, NodeTraffic node, Plan plan)
    @cython.locals(call=ProduceCall, queue=PartitionQueue)
    cdef _end_round(self, Plan plan, Py_ssize_t first)
    @cython.locals(
        queue=PartitionQueue,
        oldest=ProducerBatch,
        expires_at=double,
        earliest_retry=double,
        retry_at=double,
        idle=Py_ssize_t,
    )
    cdef _look_ahead(self, double now, Plan plan)
    cdef _judge(
        self,
        node_id,
        PartitionQueue queue,
        ProducerBatch batch,
        answer,
        ResponseEffects effects,
    )
    @cython.locals(retry_at=double)
    cdef _conclude(
        self,
        PartitionQueue queue,
        ProducerBatch batch,
        outcome,
        answer,
        ResponseEffects effects,
    )
    @cython.locals(batch=ProducerBatch)
    cdef _drop_doubtful(self, PartitionQueue queue)
    cdef bint _give_up(self, PartitionQueue queue, ProducerBatch batch, error) except -1
