cpdef int frame_size(scratch, Py_ssize_t start) except? -1
cpdef bytes cut(scratch, Py_ssize_t start, Py_ssize_t end)
