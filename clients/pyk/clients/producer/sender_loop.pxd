cimport cython

from pyk.clients.engine.request_path cimport RequestPath
from pyk.clients.producer.accumulator cimport RecordAccumulator
from pyk.clients.producer.batch cimport ProducerBatch
from pyk.clients.producer.delivery cimport BatchResult
from pyk.clients.producer.produce_call cimport ProduceCall
from pyk.clients.producer.routes cimport Routes
from pyk.clients.producer.sender cimport Consequences, Plan, Sender, Settlement
from pyk.clients.producer.wakeup cimport Alarm


cdef class SenderLoop:
    cdef RequestPath _client
    cdef object _config
    cdef object _now
    cdef object _acks
    cdef object _timeout_ms
    cdef RecordAccumulator _accumulator
    cdef Sender _sender
    cdef Routes _routes
    cdef Alarm _alarm
    cdef bint _is_getting_producer_id
    cdef bint _is_stopped
    cdef bint _is_visited
    cdef bint _is_busy
    cdef int _producer_id_failures
    cdef readonly object producer_id_error
    cdef readonly long long delivered_records
    cdef readonly long long failed_records

    cpdef wake(self)
    cpdef hurry(self)
    cpdef take_turn(self)
    cpdef _take_turn(self)
    cdef _fail(self, mistake)
    @cython.locals(plan=Plan)
    cdef double _act(self, double now) except? -1.0
    cdef _begin(self, ProduceCall call)
    cdef _submit(self, ProduceCall call)
    @cython.locals(consequences=Consequences)
    cpdef _ended(self, ProduceCall call, response, error)
    cdef _follow(self, Consequences consequences, response)
    cdef _settle(self, list settlements)
    @cython.locals(end=Settlement, batch=ProducerBatch, result=BatchResult)
    cpdef _hand_out(self, list settlements)


@cython.final
cdef class ProduceAnswer:
    cdef SenderLoop _sender_loop
    cdef ProduceCall _call
    cdef bint _is_done

    cpdef bint done(self) except -1
    cpdef set_result(self, response)
    cpdef set_exception(self, error)
