cimport cython

cdef extern from "pythread.h":
    ctypedef void *PyThread_type_lock


@cython.final
cdef class TurnLock:
    cdef PyThread_type_lock _lock
    cdef unsigned long _holder

    cpdef bint acquire(self, bint wait) noexcept
    cpdef int release(self) except -1
    cpdef bint is_mine(self) noexcept
