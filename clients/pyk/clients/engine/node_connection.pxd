cimport cython

from pyk.clients.engine.connection cimport Connection, PendingRequest, new_pending


cdef class NodeConnection:
    cdef readonly object node
    cdef readonly object lane
    cdef readonly object progress
    cdef readonly object versions
    cdef object _shared
    cdef object _now
    cdef object _reconnect
    cdef object _waiting
    cdef Connection _connection
    cdef dict _closing
    cdef object _connecting
    cdef object _idle_timer
    cdef object _throttle_timer
    cdef object _expiry_timer
    cdef object _login_timer
    cdef object _logging_in
    cdef double _expires_at
    cdef object _closed
    cdef double _warn_again_at

    @cython.locals(now=double, connection=Connection, pending=PendingRequest)
    cpdef submit(self, request, double timeout, within, waiter)
    cpdef _proceed(self)
    @cython.locals(pending=PendingRequest)
    cdef _flush(self, Connection connection)
    cdef _write(self, Connection connection, PendingRequest pending, double now)
    cdef _watch_deadline(self, double deadline)
