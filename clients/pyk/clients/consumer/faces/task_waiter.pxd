cimport cython


@cython.final
cdef class TaskWaiter:
    cdef public bint _asyncio_future_blocking
    cdef bint _is_set
    cdef bint _is_awaited
    cdef object _loop
    cdef object _wake_up
    cdef object _context
    cdef object _cancelled
    cpdef set(self)
    cpdef set_now(self)
    cpdef set_before(self, function)
    cpdef clear(self)
    cpdef _wake_soon(self)
