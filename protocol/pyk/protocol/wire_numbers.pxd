cpdef int get_int32(data, Py_ssize_t position) except? -1
cpdef long long get_int64(data, Py_ssize_t position) except? -1
cpdef bint has_bytes(data, Py_ssize_t position, bytes expected) except -1
cpdef int put_int32(bytearray out, Py_ssize_t position, int value) except -1
cpdef int put_int64(bytearray out, Py_ssize_t position, long long value) except -1
cpdef bytearray bytearray_of(bytes data)
cpdef int append_bytes(bytearray out, data) except -1
cpdef int append_int32(bytearray out, int value) except -1
cpdef int append_varint(bytearray out, unsigned int value) except -1
