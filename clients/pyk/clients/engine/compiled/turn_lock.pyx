"""The lock of a loop's turns: one of the operating system, without a Python call."""

cdef extern from "pythread.h":
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    unsigned long PyThread_get_thread_ident() noexcept


cdef class TurnLock:
    """A lock that says whether this thread holds it."""

    def __cinit__(self):
        self._lock = PyThread_allocate_lock()
        if self._lock == NULL:
            raise MemoryError("cannot allocate a lock")

    def __dealloc__(self):
        if self._lock != NULL:
            PyThread_free_lock(self._lock)

    cpdef bint acquire(self, bint wait) noexcept:
        if not PyThread_acquire_lock(self._lock, 0):
            if not wait:
                return False
            with nogil:
                PyThread_acquire_lock(self._lock, 1)
        self._holder = PyThread_get_thread_ident()
        return True

    cpdef int release(self) except -1:
        if self._holder == 0:
            raise RuntimeError("release unlocked lock")
        self._holder = 0
        PyThread_release_lock(self._lock)
        return 0

    cpdef bint is_mine(self) noexcept:
        return self._holder == PyThread_get_thread_ident()
