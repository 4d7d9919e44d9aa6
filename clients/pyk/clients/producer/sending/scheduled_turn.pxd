cimport cython


@cython.final
cdef class ScheduledTurn:
    cdef object _function
    cdef bint _is_requested
    cdef object _loop
    cdef object _timer
    cdef double _due_at

    cpdef bint is_started(self)
    cpdef request(self)
    cpdef request_at(self, double when)
    cpdef _run_at_time(self)
    cpdef _run(self)
