cimport cython


@cython.final
cdef class NodeTraffic:
    cdef readonly int node_id
    cdef public int in_flight
    cdef public object call
    cdef public Py_ssize_t room
