cimport cython


@cython.final
cdef class Alarm:
    cdef object _function
    cdef bint _is_set
    cdef object _loop
    cdef object _timer
    cdef double _due_at

    cpdef bint is_started(self)
    cpdef set(self)
    cpdef set_at(self, double when)
    cpdef _ring_in_time(self)
    cpdef _ring(self)
