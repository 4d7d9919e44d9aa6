cimport cython

from pyk.clients.engine.poller cimport note_signals


cpdef bint is_main_thread() except -1


@cython.final
cdef class DeferredSignals:
    cdef readonly list pending
    cdef list _numbers
    cdef list _handlers
    cdef Py_ssize_t _held
    cdef object _old_wakeup_fd

    cpdef begin(self)
    cpdef ring(self, int wakeup_fd)
    cpdef silence(self)
    cpdef end(self)
    cdef _handle(self, raised)
    cpdef _restore(self)
    cdef _restore_wakeup_fd(self, old)
