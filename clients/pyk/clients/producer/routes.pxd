cimport cython


@cython.final
cdef class Routes:
    cdef object _image
    cdef dict _leaders
    cdef dict _topic_ids

    cpdef use(self, image)
    # leader and topic_id are no C methods: they are handed on as callables, and Cython makes wrong C
    # of that, which GCC 14 and Clang 16 refuse.
