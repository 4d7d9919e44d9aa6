cimport cython

from pyk.clients.consumer.fetch_buffer cimport FetchBuffer
from pyk.protocol.records.record cimport ConsumerRecord


cdef class BlockingReadPath:
    cdef FetchBuffer _buffer


cdef class AsyncReadPath:
    cdef FetchBuffer _buffer


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class ReadyRecord:
    cdef ConsumerRecord _record
