cimport cython


@cython.final
cdef class Turns:
    cdef public object node_id
    cdef public long long first
    cdef public bint are_missed


@cython.final
cdef class Progress:
    cdef public double made_at
    cdef public double answered_at
    cdef public long stalls
    cdef public Turns turns
    cdef public object held_since
    cpdef made(self, double now)
