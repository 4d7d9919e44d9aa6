cimport cython

from pyk.clients.engine.call cimport Visit
from pyk.clients.engine.fork cimport ForkGuard
from pyk.clients.engine.loop_drivers cimport LoopDrivers
from pyk.clients.engine.waiter cimport DrivingWaiter, Waiter


@cython.final
cdef class LoopThread:
    cdef readonly ForkGuard guard
    cdef readonly object loop
    cdef public object at_exit
    cdef public object at_wait
    cdef public object at_end
    cdef object _name
    cdef object _state
    cdef readonly object _thread
    cdef object _last_task
    cdef bint _is_closed
    cdef object _failure
    cdef readonly dict _calls
    cdef readonly LoopDrivers _drivers

    cpdef bint is_here(self) except -1
    @cython.locals(drivers=LoopDrivers, visit=Visit)
    cpdef visit(self, function)
    cpdef bint leave(self, function, Waiter waiter) except -1
    cpdef Waiter new_waiter(self)
