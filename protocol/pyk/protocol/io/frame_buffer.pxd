cpdef bytes cut(scratch, Py_ssize_t start, Py_ssize_t end)
