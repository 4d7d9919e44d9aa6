cimport cython

from pyk.clients.engine.request_path cimport RequestPath
from pyk.clients.engine.thread cimport LoopThread
from pyk.clients.producer.batching.accumulator cimport RecordAccumulator
from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.batching.batch_drain cimport BatchDrain
from pyk.clients.producer.sending.plan cimport Plan, ResponseEffects
from pyk.clients.producer.sending.produce_call cimport ProduceCall
from pyk.clients.producer.sending.send_planner cimport SendPlanner
from pyk.clients.producer.sending.scheduled_turn cimport ScheduledTurn
from pyk.runtime.system_clock cimport SystemClock


cdef class Sender:
    cdef RequestPath _client
    cdef object _clock
    cdef SystemClock _system_clock
    cdef bint _is_answered
    cdef bint _lingers
    cdef RecordAccumulator _accumulator
    cdef BatchDrain _drain
    cdef SendPlanner _planner
    cdef object _metadata
    cdef LoopThread _thread
    cdef tuple _visits
    cdef ScheduledTurn _turn
    cdef bint _is_stopped
    cdef bint _is_visited
    cdef bint _is_busy
    cdef object _when_idle
    cdef readonly object identity
    cdef readonly long long delivered_records
    cdef readonly long long failed_records

    # wake, visit, take_turn and hand_out are no C methods: they are handed on as callables, and Cython
    # makes wrong C of that, which GCC 14 and Clang 16 refuse.
    cdef _visit(self)
    cdef _take_turn(self)
    cdef double _now(self) except? -1.0
    cdef _fail(self, bug)
    @cython.locals(plan=Plan, call=ProduceCall)
    cdef double _act(self, double now) except? -1.0
    cdef _submit(self, ProduceCall call)
    @cython.locals(effects=ResponseEffects, was_busy=bint)
    cpdef _ended(self, ProduceCall call, response, error)
    cdef _follow(self, ResponseEffects effects, response)
    cdef _settle(self, list settled)
    @cython.locals(batch=ProducerBatch)
    cdef _hand_out(self, list settled)


@cython.final
@cython.freelist(8)
cdef class ProduceWaiter:
    cdef Sender _sender
    cdef ProduceCall _call
    cdef bint _is_done

    cpdef bint done(self) except -1
    cpdef set_result(self, response)
    cpdef set_exception(self, error)


@cython.locals(waiter=ProduceWaiter)
cdef ProduceWaiter _new_waiter(Sender sender, ProduceCall call)
