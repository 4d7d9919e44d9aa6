cimport cython

from pyk.clients.engine.handover cimport Handover

cdef extern from "pythread.h":
    ctypedef void *PyThread_type_lock


@cython.final
cdef class NapBell:
    cdef PyThread_type_lock _lock
    cdef bint _is_rung

    cpdef ring(self)
    cpdef nap(self, seconds, Handover handover)
