cimport cython

from pyk.clients.engine.handover cimport Handover
from pyk.clients.engine.call cimport Visit
from pyk.clients.engine.deferred_signals cimport DeferredSignals, is_main_thread
from pyk.clients.engine.nap_bell cimport NapBell
from pyk.clients.engine.poller cimport note_signals
from pyk.clients.engine.turns cimport BackgroundEventWait, EventWait, Turns
from pyk.clients.engine.waiter cimport Waiter
from pyk.runtime.system_clock cimport SystemClock


@cython.final
cdef class LoopDrivers:
    cdef readonly Handover handover
    cdef readonly set waiting
    cdef object _on_failure
    cdef SystemClock _clock
    cdef int _failed_turns
    cdef object _loop
    cdef Turns _turns
    cdef int _wakeup_fd
    cdef NapBell _bell
    cdef Waiter _driving
    cdef list _left
    cdef bint _is_at_rest
    cdef BackgroundEventWait _background_wait
    cdef EventWait _caller_wait
    cdef object _visit_context
    cdef object _turn_context

    cpdef bint is_here(self) except -1
    cpdef call_here(self, function)
    cpdef bint leave(self, function, Waiter waiter) except -1
    cpdef wake(self)
    @cython.locals(turns=Turns, signals=DeferredSignals, is_ready=bint)
    cpdef visit(self, Visit visit)
    @cython.locals(turns=Turns, background=BackgroundEventWait, wakes_at=double)
    cpdef bint oversleeps(self) except -1
    cdef _rouse(self)
    cdef _poke(self)
    @cython.locals(deadline=double)
    cpdef bint wait(self, Waiter waiter, timeout, begin, bint may_drive) except -1
    @cython.locals(turns=Turns, signals=DeferredSignals, is_driver=bint)
    cdef bint _drive(self, Waiter waiter, double deadline, begin) except -1
    cdef _run_turns(self, Waiter waiter, double deadline, begin, DeferredSignals signals)
    @cython.locals(now=double, rings_at=double)
    cpdef _turn_until_set(self, Waiter waiter, double deadline, DeferredSignals signals)
    cdef _begin(self, begin)
    cdef _do_what_was_left(self)
    cpdef was_set(self, Waiter waiter)
    @cython.locals(turns=Turns)
    cdef _turn(self, double until, EventWait event_wait)
    @cython.locals(turns=Turns)
    cdef _drive_until_relieved(self)
    @cython.locals(turns=Turns)
    cdef _next_nap(self)
