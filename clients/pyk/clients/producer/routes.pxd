cimport cython


@cython.final
cdef class Routes:
    cdef object _image
    cdef dict _leaders
    cdef dict _topic_ids

    cpdef use(self, image)
    cpdef leader(self, partition)
    cpdef topic_id(self, topic)
