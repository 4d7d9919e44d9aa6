cdef double monotonic_seconds() noexcept nogil


cdef class SystemClock:
    cdef long long ahead_ms
    cpdef double now(self) except? -1
    cpdef long long time_ms(self) noexcept
