cimport cython

from pyk.clients.consumer.bell cimport Bell
from pyk.clients.consumer.fetch_buffer cimport FetchBuffer
from pyk.clients.consumer.fetch_reader cimport FetchReader


cdef class BlockingReadPath:
    cdef readonly FetchReader _reader


cdef class AsyncReadPath:
    cdef readonly object _core
    cdef readonly FetchReader _reader
    cdef readonly FetchBuffer _buffer
    cdef Bell _bell
    cdef public object _user
    cdef public object _taker
    cdef _enter(self)
    cpdef _refuse_other_tasks(self)


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class NextRecord:
    cdef AsyncReadPath _path
    cdef object _waiting
    cdef bint _is_over
