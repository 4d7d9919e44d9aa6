cdef class Mutex:
    cdef bint _is_held
    cdef unsigned long _owner

    cdef int _depth

    cdef int check(self) except -1
    cdef int acquire(self) except -1
    cdef void release(self) noexcept
