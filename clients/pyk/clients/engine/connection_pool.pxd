cimport cython

from pyk.clients.engine.node_connection cimport NodeConnection


cdef class ConnectionPool:
    cdef readonly dict bootstrap_nodes
    cdef object _shared
    cdef dict _nodes
    cdef dict _connections

    @cython.locals(connection=NodeConnection)
    cpdef NodeConnection connection(self, node_id, lane)
    @cython.locals(connection=NodeConnection)
    cpdef double throttled_until(self, node_id, lane) except? -1
