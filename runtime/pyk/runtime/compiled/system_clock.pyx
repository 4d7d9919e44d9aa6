"""The operating system's clocks, without a Python call on the way to them."""

from time import monotonic

cdef extern from "time.h":
    ctypedef long long time_t
    cdef struct timespec:
        time_t tv_sec
        long tv_nsec
    const int TIME_UTC
    int timespec_get(timespec *now, int base) nogil

cdef extern from *:
    """
    #ifdef __linux__  /* where the clock of time.monotonic() has a name */
    #define PYK_HAS_MONOTONIC 1
    static int pyk_monotonic(struct timespec *now) { return clock_gettime(CLOCK_MONOTONIC, now); }
    #else
    #define PYK_HAS_MONOTONIC 0
    static int pyk_monotonic(struct timespec *now) { return -1; }
    #endif
    """
    const bint PYK_HAS_MONOTONIC
    int pyk_monotonic(timespec *now) nogil


cdef object _monotonic = monotonic


cdef double monotonic_seconds() noexcept nogil:
    """Return what ``time.monotonic()`` does, on Linux without a Python call."""
    cdef timespec now
    if PYK_HAS_MONOTONIC and pyk_monotonic(&now) == 0:
        return now.tv_sec + now.tv_nsec * 1e-9
    with gil:
        return _monotonic()


cdef class SystemClock:
    """The operating system's clocks; implements :class:`~pyk.runtime.clock.Clock`."""

    cpdef double now(self) except? -1:
        return monotonic_seconds()

    cpdef long long time_ms(self) noexcept:
        cdef timespec now
        timespec_get(&now, TIME_UTC)
        return <long long>now.tv_sec * 1000 + now.tv_nsec // 1_000_000 + self.ahead_ms

    def step(self, double seconds):
        """Set the wall clock of this object forward, or backward, for tests of wrong clocks."""
        self.ahead_ms += <long long>round(seconds * 1000)
