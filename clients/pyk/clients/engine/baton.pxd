cimport cython


@cython.final
cdef class Baton:
    cdef public double grace
    cdef public object driver
    cdef public bint is_urgent
    cdef public bint is_ending
    cdef double _left_at
    cdef long long _drives
    cdef long long _drives_seen
    cdef double _nap
    cdef bint _must_tell

    cpdef bint caller_comes(self) except -1
    cpdef bint caller_leaves(self, double now) except -1
    cpdef bint is_needed(self) except -1
    cpdef bint leaves_work(self) except -1
    cpdef end(self)
    @cython.locals(nap=double)
    cdef double _next_nap(self, long long drives, double now, double next_timer) except? -1.0
