from libc.stdint cimport int32_t, uint8_t

cdef int32_t hash_of(const uint8_t *key, Py_ssize_t length) noexcept nogil
cpdef long murmur2(key) except? -1
cpdef long partition_for_key(key, long partition_count) except -1
