cimport cython

from pyk.clients.consumer.faces.task_waiter cimport TaskWaiter
from pyk.clients.consumer.buffer.read_buffer cimport ReadBuffer
from pyk.clients.consumer.buffer.record_reader cimport RecordReader
from pyk.clients.engine.request_path cimport RequestPath
from pyk.clients.engine.thread cimport LoopThread
from pyk.clients.engine.waiter cimport Waiter


cdef class BlockingReadPath:
    cdef readonly object _core
    cdef readonly RecordReader _reader
    cdef readonly ReadBuffer _buffer
    cdef readonly LoopThread _thread
    cdef readonly ApplicationPace _pace
    cdef Waiter _waiter
    cdef bint _has_begun
    cdef readonly object _use
    cdef readonly object _user
    cdef readonly object _taker
    cdef readonly object _processor
    @cython.locals(has_span=bint)
    cpdef _open_next_span(self)
    cpdef tuple _take(self, limit, deadline)
    cdef bint _wait(self, deadline) except -1
    cdef _fetch_on(self)
    cpdef _refuse_nested_polls(self, user)


@cython.final
cdef class ApplicationPace:
    cdef readonly Waiter waiter
    cdef readonly object fetch
    cdef LoopThread _thread
    cdef object _now
    cdef double _left_at
    cdef bint _is_quick
    cpdef application_comes(self)
    cpdef application_goes(self)
    cpdef take_records(self, fetch)
    cpdef note(self, fetch)


cdef class AsyncReadPath:
    cdef readonly object _core
    cdef readonly RequestPath _client
    cdef readonly RecordReader _reader
    cdef readonly ReadBuffer _buffer
    cdef TaskWaiter _waiter
    cdef public bint _has_begun
    cdef public object _user
    cdef public object _taker
    cdef readonly object _processor
    cdef _enter(self)
    cpdef _refuse_other_tasks(self, task)


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class NextRecord:
    cdef AsyncReadPath _path
    cdef object _waiting
    cdef bint _is_over
