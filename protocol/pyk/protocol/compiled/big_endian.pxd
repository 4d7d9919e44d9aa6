# Numbers in memory, highest byte first. The functions look at nothing but the bytes of one number.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef inline uint32_t read_uint32(const uint8_t *at) noexcept nogil:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef inline uint16_t read_uint16(const uint8_t *at) noexcept nogil:
    return <uint16_t>((at[0] << 8) | at[1])


cdef inline uint64_t read_uint64(const uint8_t *at) noexcept nogil:
    return (<uint64_t>read_uint32(at) << 32) | read_uint32(at + 4)


cdef inline uint8_t *write_uint16(uint8_t *at, uint16_t value) noexcept nogil:
    """Write a number, or one with a sign as its two's complement; return the position after it."""
    at[0] = <uint8_t>(value >> 8)
    at[1] = <uint8_t>value
    return at + 2


cdef inline uint8_t *write_uint32(uint8_t *at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t>(value >> 24)
    at[1] = <uint8_t>(value >> 16)
    at[2] = <uint8_t>(value >> 8)
    at[3] = <uint8_t>value
    return at + 4


cdef inline uint8_t *write_uint64(uint8_t *at, uint64_t value) noexcept nogil:
    at = write_uint32(at, <uint32_t>(value >> 32))
    return write_uint32(at, <uint32_t>value)
