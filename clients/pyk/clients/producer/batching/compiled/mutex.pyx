"""The lock of the accumulator: two instructions where a lock of the operating system takes 40 ns.

Compiled code that calls no Python runs under the GIL from end to end, so testing and setting a flag is
one step. The little Python that runs under this lock (making a batch) may hand the GIL to a thread
that wants the lock too: that thread releases the GIL until the flag falls. A free-threaded
interpreter switches its GIL on to load this module.
"""

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #ifdef _WIN32
    #include <windows.h>
    static void pyk_yield(void) { SwitchToThread(); }
    #else
    #include <sched.h>
    static void pyk_yield(void) { sched_yield(); }
    #endif
    """
    void pyk_yield() nogil


cdef class Mutex:
    """A lock that one thread does not take twice: it calls :meth:`check` first."""

    cpdef int check(self) except -1:
        """Raise ``RuntimeError`` if this thread holds it: :meth:`acquire` would let it in."""
        if self._depth and self._owner == PyThread_get_thread_ident():
            # A finalizer that the collector ran in here, such as of a log handler that produces.
            raise RuntimeError("a producer was used in the middle of its own send")
        return 0

    cpdef int acquire(self) except -1:
        cdef unsigned long caller = PyThread_get_thread_ident()
        while self._depth and self._owner != caller:
            with nogil:
                pyk_yield()
        self._owner = caller
        self._depth += 1
        return 0

    cpdef int release(self) except -1:
        if not self._depth or self._owner != PyThread_get_thread_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        return 0
