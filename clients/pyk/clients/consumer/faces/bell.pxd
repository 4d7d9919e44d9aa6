cimport cython


@cython.final
cdef class Bell:
    cdef public bint _asyncio_future_blocking
    cdef bint _has_rung
    cdef bint _is_awaited
    cdef object _loop
    cdef object _wake_up
    cdef object _context
    cdef object _cancelled
    cpdef ring(self)
    cpdef ring_now(self)
    cpdef ring_before(self, function)
    cpdef clear(self)
    cpdef _wake_soon(self)
