cimport cython

from pyk.protocol.connection cimport ClientConnection, Reply, expects_response
from pyk.runtime.network.frame_transport cimport FrameStream


@cython.final
@cython.freelist(8)
cdef class PendingRequest:
    cdef readonly object request
    cdef readonly object waiter
    cdef readonly object within
    cdef readonly double timeout
    cdef readonly double deadline

    cdef _begin(self, request, waiter, within, double timeout, double deadline)
    cpdef message(self, version)
    cpdef settle(self, reply)
    cpdef fail(self, error)


@cython.locals(pending=PendingRequest)
cpdef PendingRequest new_pending(request, waiter, within, double timeout, double deadline)


cdef class Connection:
    cdef public object node
    cdef public object versions
    cdef readonly double last_used
    cdef readonly double throttled_until
    cdef readonly bint was_of_use
    cdef public double authenticate_at
    cdef public double session_ends_at
    cdef public bint is_paused
    cdef public object on_first_response
    cdef public object on_end
    cdef readonly object lost
    cdef readonly FrameStream transport
    cdef dict _chosen_versions
    cdef object _now
    cdef ClientConnection _protocol
    cdef object _reason

    cpdef version_of(self, PendingRequest pending)
    cpdef write(self, PendingRequest pending, version, double now)
    @cython.locals(reply=Reply, pending=PendingRequest)
    cpdef frame_received(self, frame)
    cdef _note_use(self)
    cdef _end(self, error)
    cdef _explained(self, error, list abandoned)
