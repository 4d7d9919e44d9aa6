from pyk.clients.engine.fork cimport ForkGuard


cdef class Waiter:
    cdef readonly bint is_set
    cdef object _bell

    cpdef set(self)
    cpdef clear(self)
    cpdef bint wait(self, timeout=*, begin=*) except -1
    cpdef bint sleep(self, timeout) except -1


cdef class DrivingWaiter(Waiter):
    cdef object _drivers
    cdef ForkGuard _guard
