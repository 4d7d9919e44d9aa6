cimport cython

from pyk.protocol.wire_numbers cimport append_int32, append_varint


@cython.final
cdef class ProduceTemplate:
    cdef readonly int version
    cdef readonly object topic_id
    cdef bint _is_compact
    cdef bytes _prefix
    cdef bytes _suffix

    @cython.locals(size=Py_ssize_t)
    cpdef list fill(self, records, bytearray out)
