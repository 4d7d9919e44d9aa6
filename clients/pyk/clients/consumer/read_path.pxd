cimport cython

from pyk.clients.consumer.fetch_reader cimport FetchReader


cdef class BlockingReadPath:
    cdef readonly FetchReader _reader


cdef class AsyncReadPath:
    cdef readonly FetchReader _reader


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class NextRecord:
    cdef AsyncReadPath _path
    cdef object _waiting
    cdef bint _is_over
