cimport cython


@cython.final
cdef class ForkGuard:
    cdef object __weakref__
    cdef readonly object owner
    cdef readonly bint is_forked
    cdef public object on_fork
