from pyk.clients.engine.connection_pool cimport ConnectionPool
from pyk.clients.engine.fork cimport ForkGuard
from pyk.clients.engine.node_connection cimport NodeConnection


cdef class RequestPath:
    cdef readonly ForkGuard guard
    cdef readonly ConnectionPool pool
    cdef double _request_timeout
    cdef public object _loop
    cdef public bint is_closed
    cdef public object failure

    cpdef submit(
        self, node_id, request, waiter, timeout_ms=*, within=*, lane=*
    )
    cpdef double throttled_until(self, node_id, lane=*) except? -1
    cpdef _check_usable(self, bint may_be_unstarted=*)
    cdef _check_open(self, bint may_be_unstarted=*)
    cpdef check_place(self)
