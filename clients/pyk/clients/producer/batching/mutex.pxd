cimport cython


@cython.final
cdef class Mutex:
    cdef unsigned long _owner
    cdef int _depth

    cpdef int check(self) except -1
    cpdef int acquire(self) except -1
    cpdef int release(self) except -1
