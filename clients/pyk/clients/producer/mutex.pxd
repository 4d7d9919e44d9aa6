cdef class Mutex:
    cdef bint _is_held

    cdef void acquire(self) noexcept
    cdef void release(self) noexcept
