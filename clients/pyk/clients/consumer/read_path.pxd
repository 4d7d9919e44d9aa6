cimport cython

from pyk.clients.consumer.fetch_reader cimport FetchReader
from pyk.protocol.records.record cimport ConsumerRecord


cdef class BlockingReadPath:
    cdef readonly FetchReader _reader


cdef class AsyncReadPath:
    cdef readonly FetchReader _reader


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class ReadyRecord:
    cdef ConsumerRecord _record
