"""Numbers as they lie on the wire: highest byte first, or as unsigned varints.

The compiled form of ``wire_numbers.py``, which says what each function promises.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport (
    PyByteArray_AS_STRING,
    PyByteArray_FromStringAndSize,
    PyByteArray_GET_SIZE,
    PyByteArray_Resize,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from pyk.protocol.compiled.big_endian cimport (
    read_uint32,
    read_uint64,
    write_uint32,
    write_uint64,
)

cdef enum:
    _INT32_BYTES = 4
    _INT64_BYTES = 8
    _MOST_VARINT_BYTES = 5


cpdef int get_int32(data, Py_ssize_t position) except? -1:
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        _check(position, view.len)
        return <int>read_uint32(<const uint8_t *>view.buf + position)
    finally:
        PyBuffer_Release(&view)


cpdef long long get_int64(data, Py_ssize_t position) except? -1:
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= position <= view.len - _INT64_BYTES:
            raise IndexError(f"no int64 at byte {position} of {view.len}")
        return <long long>read_uint64(<const uint8_t *>view.buf + position)
    finally:
        PyBuffer_Release(&view)


cpdef bint has_bytes(data, Py_ssize_t position, bytes expected) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t size = PyBytes_GET_SIZE(expected)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= position <= view.len - size:
            return False
        return memcmp(
            <const char *>view.buf + position, PyBytes_AS_STRING(expected), <size_t>size
        ) == 0
    finally:
        PyBuffer_Release(&view)


cpdef int put_int32(bytearray out, Py_ssize_t position, int value) except -1:
    _check(position, len(out))
    write_uint32(<uint8_t *>PyByteArray_AS_STRING(out) + position, <uint32_t>value)
    return 0


cpdef int put_int64(bytearray out, Py_ssize_t position, long long value) except -1:
    if not 0 <= position <= len(out) - _INT64_BYTES:
        raise IndexError(f"no int64 at byte {position} of {len(out)}")
    write_uint64(<uint8_t *>PyByteArray_AS_STRING(out) + position, <uint64_t>value)
    return 0


cpdef bytearray bytearray_of(bytes data):
    return PyByteArray_FromStringAndSize(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cpdef int append_bytes(bytearray out, data) except -1:
    cdef Py_ssize_t size = len(out), added
    if type(data) is bytes:
        added = PyBytes_GET_SIZE(data)
        PyByteArray_Resize(out, size + added)
        memcpy(PyByteArray_AS_STRING(out) + size, PyBytes_AS_STRING(data), <size_t>added)
    elif type(data) is bytearray and data is not out:
        added = PyByteArray_GET_SIZE(data)
        PyByteArray_Resize(out, size + added)
        memcpy(PyByteArray_AS_STRING(out) + size, PyByteArray_AS_STRING(data), <size_t>added)
    else:
        out += data
    return 0


cpdef int append_int32(bytearray out, int value) except -1:
    cdef Py_ssize_t size = len(out)
    PyByteArray_Resize(out, size + _INT32_BYTES)
    write_uint32(<uint8_t *>PyByteArray_AS_STRING(out) + size, <uint32_t>value)
    return 0


cpdef int append_varint(bytearray out, unsigned int value) except -1:
    cdef uint8_t encoded[_MOST_VARINT_BYTES]
    cdef Py_ssize_t count = 0, size = len(out), index
    cdef uint8_t *at
    while value > 0x7F:
        encoded[count] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
        count += 1
    encoded[count] = <uint8_t>value
    PyByteArray_Resize(out, size + count + 1)
    at = <uint8_t *>PyByteArray_AS_STRING(out) + size
    for index in range(count + 1):
        at[index] = encoded[index]
    return 0


cdef inline int _check(Py_ssize_t position, Py_ssize_t size) except -1:
    if not 0 <= position <= size - _INT32_BYTES:
        raise IndexError(f"no int32 at byte {position} of {size}")
    return 0
