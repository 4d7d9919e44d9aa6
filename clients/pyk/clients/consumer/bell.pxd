cimport cython


@cython.final
cdef class Bell:
    cdef bint _has_rung
    cdef object _waiting
    cpdef ring(self)
    cpdef clear(self)
