cimport cython

from pyk.runtime.network.frame_reader cimport FrameReader
from pyk.runtime.network.socket_transport cimport SocketTransport


cdef class FrameStream(FrameReader):
    cdef readonly object _transport
    cdef SocketTransport _socket

    cpdef write(self, list parts)


@cython.locals(joined=list, small=list)
cdef list _join_small(parts)
