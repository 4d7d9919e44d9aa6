cdef class StreamSocket:
    cdef object _connection
    cdef int _descriptor

    cpdef Py_ssize_t receive_into(self, buffer) except -2
    cpdef Py_ssize_t send_parts(self, list parts) except -1
    cdef Py_ssize_t _send_some(
        self, list parts, Py_ssize_t *first, Py_ssize_t *offered
    ) except -2
