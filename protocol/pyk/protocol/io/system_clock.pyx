"""The operating system's clocks, without an object on the way to the wall clock."""

from time import monotonic

cdef extern from "time.h":
    ctypedef long long time_t
    cdef struct timespec:
        time_t tv_sec
        long tv_nsec
    const int TIME_UTC
    int timespec_get(timespec *now, int base) nogil


cdef object _monotonic = monotonic


cdef class SystemClock:
    """The operating system's clocks; implements :class:`~pyk.protocol.io.Clock`."""

    cpdef double now(self) except? -1:
        return _monotonic()

    cpdef long long time_ms(self) noexcept:
        cdef timespec now
        timespec_get(&now, TIME_UTC)
        return <long long>now.tv_sec * 1000 + now.tv_nsec // 1_000_000
