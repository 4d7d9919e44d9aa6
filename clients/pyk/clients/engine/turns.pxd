cimport cython

from pyk.clients.engine.handover cimport Handover
from pyk.clients.engine.poller cimport Poller
from pyk.clients.engine.turn_lock cimport TurnLock
from pyk.runtime.network.socket_transport cimport SocketTransport
from pyk.runtime.system_clock cimport SystemClock


cdef class EventWait:
    cdef readonly bint is_on
    cdef readonly double until
    cdef Poller poller

    cpdef begins(self, double until)
    cpdef bint ends(self) except -1


@cython.final
cdef class BackgroundEventWait(EventWait):
    cdef Handover _handover


@cython.final
cdef class Turns:
    cdef object _loop
    cdef object _ready
    cdef list _timers
    cdef object _selector
    cdef double _resolution
    cdef SystemClock _clock
    cdef TurnLock _lock
    cdef unsigned long long _count

    cpdef bint hold(self, bint wait) except -1
    cpdef let_go(self)
    cpdef bint is_here(self) except -1
    @cython.locals(poller=Poller)
    cpdef run(self, double until, EventWait event_wait)
    cpdef touched(self)
    cpdef bint has_timer_before(self, double when) except -1
    cpdef double next_timer(self) except? -1.0
    @cython.locals(timers=list)
    cdef _drop_cancelled_timers(self)
    @cython.locals(poller=Poller, wakes_at=double, now=double, count=cython.ulonglong, is_relieved=bint)
    cdef int _wait(self, double until, EventWait event_wait) except -1
    @cython.locals(index=int, mask=int)
    cdef _take_events(self, Poller poller, int count)
    @cython.locals(timers=list, end=double)
    @cython.locals(transport=SocketTransport)
    cdef _read(self, reader)
    cdef _take_due_timers(self)
    cdef _run(self, handle)
