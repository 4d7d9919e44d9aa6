cdef class SystemClock:
    cpdef double now(self) except? -1
    cpdef long long time_ms(self) noexcept
