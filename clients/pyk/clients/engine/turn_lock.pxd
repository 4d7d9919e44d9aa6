cimport cython

cdef extern from "pythread.h":
    ctypedef void *PyThread_type_lock


@cython.final
cdef class TurnLock:
    cdef PyThread_type_lock _lock
    cdef unsigned long _holder

    cdef bint acquire(self, bint wait) noexcept
    cdef void release(self) noexcept
    cdef bint is_mine(self) noexcept
