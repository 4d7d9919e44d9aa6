cimport cython


@cython.final
cdef class Visit:
    cdef readonly bint has_begun
    cdef readonly object function
