cimport cython


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class Stretch:
    cdef readonly long long first
    cdef readonly long long last
    cdef readonly long kind


@cython.final
cdef class Acknowledgements:
    cdef list _stretches
    cdef Py_ssize_t _last_decided
    @cython.locals(one=Stretch)
    cpdef object kind_at(self, long long offset)
    @cython.locals(near=Py_ssize_t, count=Py_ssize_t, grown=Stretch, shrunk=Stretch)
    cpdef object decide(self, long long offset, long kind)
    @cython.locals(begin=Py_ssize_t, end=Py_ssize_t, changed=list, made=list, one=Stretch)
    cpdef add(self, long long first, long long last, long kind)
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t, one=Stretch)
    cdef Py_ssize_t _begins_up_to(self, long long offset)
    @cython.locals(decided=Acknowledgements, one=Stretch)
    cpdef Acknowledgements take_decided(self)


@cython.locals(before=Stretch)
cdef _join(list stretches, long long first, long long last, long kind)
