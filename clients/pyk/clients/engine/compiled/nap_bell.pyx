"""The bell of a background thread, which sleeps without the lock of the interpreter."""

from pyk.runtime.system_clock cimport monotonic_seconds

cdef extern from "pythread.h":
    ctypedef long long PY_TIMEOUT_T
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock_timed(
        PyThread_type_lock lock, PY_TIMEOUT_T microseconds, int is_interruptible
    ) nogil
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil

cdef enum:
    _NO_LIMIT = -1


cdef class NapBell:
    """Lets one thread nap until another rings: a lock that is held, and released by a ring."""

    def __cinit__(self):
        self._lock = PyThread_allocate_lock()
        if self._lock == NULL:
            raise MemoryError("cannot allocate a lock")
        PyThread_acquire_lock(self._lock, 1)

    def __dealloc__(self):
        if self._lock != NULL:
            PyThread_free_lock(self._lock)

    cpdef ring(self):
        if not self._is_rung:
            self._is_rung = True
            PyThread_release_lock(self._lock)

    cpdef nap(self, seconds, Handover handover):
        cdef PY_TIMEOUT_T microseconds = _NO_LIMIT
        if seconds is not None:
            microseconds = <PY_TIMEOUT_T>(<double>seconds * 1e6)
        with nogil:
            while not PyThread_acquire_lock_timed(self._lock, microseconds, 0):
                if not handover.naps_again(monotonic_seconds()):
                    break
                # Not as long as the first one, which may be the short rest of a grace.
                microseconds = <PY_TIMEOUT_T>(handover.grace * 1e6)
        # With the lock of the interpreter again, under which alone it is rung.
        if self._is_rung:
            PyThread_acquire_lock(self._lock, 0)  # if it was rung after the nap
            self._is_rung = False
