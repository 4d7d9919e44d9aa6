cimport cython

from pyk.runtime.network.frame_reader cimport FrameReader
from pyk.runtime.network.stream_socket cimport StreamSocket


@cython.final
cdef class SocketTransport:
    cdef object __weakref__
    cdef object _loop
    cdef dict _names
    cdef StreamSocket _socket
    cdef FrameReader _frames
    cdef object _protocol
    cdef list _unsent
    cdef Py_ssize_t _unsent_bytes
    cdef bint _is_reading
    cdef bint _is_full
    cdef bint _is_closing
    cdef bint _is_ended

    cpdef bint is_closing(self) except -1
    @cython.locals(count=Py_ssize_t)
    cpdef receive(self)
    cpdef write_parts(self, list parts)
    @cython.locals(left=Py_ssize_t)
    cdef bint _send(self, list parts) except -1


@cython.locals(kept=list)
cdef list _last_bytes(list parts, Py_ssize_t count)
