"""Numbers as they lie on the wire, highest byte first.

The compiled form of ``big_endian.py``, which says what each function promises.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING


cpdef int put_int32(bytearray out, Py_ssize_t position, int value) except -1:
    if not 0 <= position <= len(out) - 4:
        raise IndexError(f"no int32 at byte {position} of {len(out)}")
    write_uint32(<uint8_t *>PyByteArray_AS_STRING(out) + position, <uint32_t>value)
    return 0


cpdef int get_int32(bytes data, Py_ssize_t position) except? -1:
    if not 0 <= position <= len(data) - 4:
        raise IndexError(f"no int32 at byte {position} of {len(data)}")
    return <int>read_uint32(<const uint8_t *>PyBytes_AS_STRING(data) + position)
