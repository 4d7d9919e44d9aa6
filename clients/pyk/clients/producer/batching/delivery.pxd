cimport cython


@cython.final
@cython.freelist(64)
cdef class RecordMetadata:
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly long long offset
    cdef readonly long long timestamp


cdef class Delivery


# No free list: an object of one that was used again would not be finalized a second time.
@cython.final
cdef class BatchResult:
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly object engine
    cdef readonly int first_index
    cdef readonly bint is_done
    cdef public bint is_observed
    cdef readonly long long base_offset
    cdef readonly long long log_append_time
    cdef readonly int count
    cdef readonly object error
    cdef readonly dict record_errors
    cdef readonly tuple pieces
    cdef object _callbacks

    cdef _begin(self, str topic, int partition, engine)
    cpdef complete(self, long long base_offset, long long log_append_time=*)
    cpdef fail(self, error, int count, dict record_errors=*)
    cpdef split(self, BatchResult first, BatchResult second, int middle)
    @cython.locals(first=BatchResult, second=BatchResult)
    cpdef BatchResult piece_of(self, int index)
    cpdef add_callback(self, Callback callback)
    cdef _run_callbacks_soon(self)
    @cython.locals(callback=Callback)
    cdef _run_callbacks(self)


@cython.locals(result=BatchResult)
cpdef BatchResult new_result(str topic, int partition, engine)


@cython.final
@cython.no_gc
@cython.freelist(4096)
cdef class Callback:
    cdef public int index
    cdef Delivery _delivery
    cdef object _function

    cdef bint is_internal(self)
    cdef run(self, engine)


@cython.final
@cython.no_gc
@cython.freelist(4096)
cdef class Delivery:
    cdef BatchResult _batch
    cdef int _index
    cdef long long _timestamp

    @cython.locals(batch=BatchResult, callback=Callback)
    cdef _add_callback(self, function)
    @cython.locals(batch=BatchResult)
    cdef BatchResult _settled(self)
    @cython.locals(batch=BatchResult)
    cdef object _error(self)
    cpdef _wait(self, timeout, begin=*)
    @cython.locals(batch=BatchResult, offset=cython.longlong, timestamp=cython.longlong)
    cdef RecordMetadata _metadata(self)
