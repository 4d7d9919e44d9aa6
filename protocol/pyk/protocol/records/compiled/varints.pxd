# The C functions for records: they take a pointer and an end, and never look beyond it.

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

# The numbers of pyk.protocol.records.errors.
cdef enum:
    _CUT = 1
    _TOO_LONG = 2


cdef inline int read_varint(const uint8_t **position, const uint8_t *end, int32_t *value) noexcept nogil:
    """Read an int32 and move ``position`` past it; return 0 or the number of the problem."""
    cdef const uint8_t *at = position[0]
    cdef uint64_t bits = 0
    cdef uint8_t byte
    cdef int shift = 0
    if at < end and at[0] < 0x80:
        value[0] = <int32_t>((at[0] >> 1) ^ -(at[0] & 1))
        position[0] = at + 1
        return 0
    while shift < 35:
        if at >= end:
            return _CUT
        byte = at[0]
        at += 1
        bits |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 or bits >> 32:
                return _TOO_LONG
            value[0] = <int32_t>((<uint32_t>bits >> 1) ^ (0 - (<uint32_t>bits & 1)))
            position[0] = at
            return 0
        shift += 7
    return _TOO_LONG


cdef inline int read_varlong(const uint8_t **position, const uint8_t *end, int64_t *value) noexcept nogil:
    """Read an int64 and move ``position`` past it; return 0 or the number of the problem."""
    cdef const uint8_t *at = position[0]
    cdef uint64_t bits = 0
    cdef uint8_t byte
    cdef int shift = 0
    while shift < 70:
        if at >= end:
            return _CUT
        byte = at[0]
        at += 1
        if shift == 63 and byte & 0x7F > 1:
            # The twin sees a tenth byte that goes on before it sees one that is too large: both are too long.
            return _TOO_LONG
        bits |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and shift:
                return _TOO_LONG
            value[0] = <int64_t>((bits >> 1) ^ (0 - (bits & 1)))
            position[0] = at
            return 0
        shift += 7
    return _TOO_LONG


cdef inline uint32_t zigzag32(int32_t value) noexcept nogil:
    return (<uint32_t>value << 1) ^ <uint32_t>(0 - (<uint32_t>value >> 31))


cdef inline uint64_t zigzag64(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(0 - (<uint64_t>value >> 63))


cdef inline Py_ssize_t size_of_varint(uint64_t bits) noexcept nogil:
    """Return how many bytes zig-zag ``bits`` take."""
    cdef Py_ssize_t size = 1
    while bits >= 0x80:
        bits >>= 7
        size += 1
    return size


cdef inline uint8_t *write_varint(uint8_t *at, uint64_t bits) noexcept nogil:
    """Write zig-zag ``bits`` and return the position after them."""
    while bits >= 0x80:
        at[0] = <uint8_t>(bits | 0x80)
        bits >>= 7
        at += 1
    at[0] = <uint8_t>bits
    return at + 1
