"""Decode one version of a message: a table of its fields, and a walk along it.

The compiled form of ``decoding.py``. Nothing is read before it is checked that it is there, and
no memory is allocated before the length or count that it is for was checked.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyk.protocol.compiled.big_endian cimport read_uint16, read_uint32, read_uint64

from types import MemberDescriptorType

from pyk.protocol.fields import NO_TAGGED_FIELDS, ArrayKind, StructKind

from . import wire
from .decoder import keeps_views
from .shape import Shape

cdef extern from "Python.h":
    object PyType_GenericAlloc(PyTypeObject *cls, Py_ssize_t items)
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef *d_member
    double PyFloat_Unpack8(const char *data, int little_endian) except? -1.0

cdef enum _Kind:
    _BOOL
    _INT8
    _INT16
    _INT32
    _INT64
    _UINT16
    _UINT32
    _FLOAT64
    _UUID
    _STRING
    _BYTES
    _RECORDS
    _STRUCT
    _ARRAY

cdef dict _KINDS = {
    "bool": _BOOL,
    "int8": _INT8,
    "int16": _INT16,
    "int32": _INT32,
    "int64": _INT64,
    "uint16": _UINT16,
    "uint32": _UINT32,
    "float64": _FLOAT64,
    "uuid": _UUID,
    "string": _STRING,
    "bytes": _BYTES,
    "records": _RECORDS,
}

cdef object _FAULTS = wire.FAULTS
cdef object _BadBytesError = wire.BadBytesError
cdef object _malformed = wire.malformed
cdef object _uuid_of = wire.uuid_of
cdef object _SlotDescriptor = MemberDescriptorType
cdef object _no_tags = NO_TAGGED_FIELDS
cdef object _no_records = memoryview(b"")
cdef int64_t _MOST_ELEMENTS = wire.MOST_ELEMENTS
cdef int64_t _LONGEST_STRING = wire.LONGEST_STRING


cdef struct _Cursor:
    const uint8_t *data
    Py_ssize_t position
    Py_ssize_t size


@cython.final
cdef class _Field:
    """How one value lies on the wire, and its slot; ``of`` are the elements of an array."""

    cdef Py_ssize_t slot
    cdef str path
    cdef int kind
    cdef bint is_compact
    cdef bint is_nullable
    cdef bint is_tagged
    cdef int tag
    cdef Py_ssize_t smallest_size
    cdef bint is_number
    cdef _Struct struct
    cdef _Field of

    def __init__(self, shape, Py_ssize_t slot, str path, int tag=-1):
        self.slot = slot
        self.path = path
        self.tag = tag
        self.is_compact = shape.is_compact
        self.is_nullable = shape.is_nullable
        self.is_tagged = shape.is_tagged
        self.smallest_size = shape.smallest_size
        self.is_number = shape.kind.fixed_format in wire.UNPACK_NUMBERS
        if isinstance(shape.kind, StructKind):
            self.kind = _STRUCT
            self.struct = _Struct(shape.kind.struct, shape.version, shape.is_flexible, path + ".")
        elif isinstance(shape.kind, ArrayKind):
            self.kind = _ARRAY
            self.of = _Field(shape.element, slot, path)
        else:
            self.kind = _KINDS[shape.kind.name]


@cython.final
cdef class _Struct:
    """How the fields of a class lie on the wire in one version, and what the others become."""

    cdef object cls
    cdef bint is_flexible
    cdef Py_ssize_t unknown_slot
    cdef list defaults
    cdef list inline
    cdef list tagged

    def __init__(self, cls, version, bint is_flexible, str path):
        self.cls = cls
        self.is_flexible = is_flexible
        self.unknown_slot = _slot_of(cls, "unknown_tagged_fields")
        self.defaults, self.inline, self.tagged = [], [], []
        for field in cls.fields:
            slot, place = _slot_of(cls, field.name), path + field.name
            if version in field.versions and version not in field.tagged:
                shape = Shape.of(field, version, is_flexible=is_flexible)
                self.inline.append(_Field(shape, slot, place))
                continue
            self.defaults.append(_Default(slot, field.default))
            if version in field.tagged:
                shape = Shape.of(field, version, is_flexible=True, is_tagged=True)
                self.tagged.append(_Field(shape, slot, place, field.tag))


@cython.final
cdef class _Default:
    """The value of a field that is not on the wire; ``()`` stands for a new list."""

    cdef Py_ssize_t slot
    cdef object value
    cdef bint is_list

    def __init__(self, Py_ssize_t slot, value):
        self.slot = slot
        self.value = value
        self.is_list = value == ()


@cython.final
cdef class _Decoder:
    """``decode(data, start) -> (message, end)`` for one version of a message."""

    cdef str name
    cdef int version
    cdef bint is_view
    cdef _Struct struct

    def __call__(self, data, Py_ssize_t position):
        cdef Py_buffer buffer
        cdef _Cursor cursor
        view = _view_of(data) if self.is_view else None
        try:
            PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        except BufferError:  # a view of every second byte, say
            data = bytes(data)
            PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        cursor.data, cursor.position, cursor.size = <const uint8_t *>buffer.buf, position, buffer.len
        try:
            if position < 0:
                raise IndexError(f"position {position}")
            message = _read_struct(&cursor, self.struct, view)
            return message, cursor.position
        except _FAULTS as fault:
            raise _malformed(self.name, self.version, data, cursor.position, fault) from fault
        finally:
            PyBuffer_Release(&buffer)


def compile_decoder(cls, int version):
    """Return ``decode(data, start) -> (message, end)`` for one version."""
    cdef _Decoder decoder = _Decoder.__new__(_Decoder)
    decoder.name = cls.__name__
    decoder.version = version
    decoder.is_view = keeps_views(cls)
    decoder.struct = _Struct(cls, version, version in cls.flexible, "")
    return decoder


cdef inline object _view_of(data):
    return data if type(data) is memoryview else memoryview(data)


cdef Py_ssize_t _slot_of(cls, str name) except -1:
    """Return where in an object of ``cls`` the slot is that holds a field."""
    descriptor = getattr(cls, name)
    if type(descriptor) is not _SlotDescriptor:
        raise TypeError(f"{cls.__name__}.{name} is no slot")
    return (<PyMemberDescrObject *>descriptor).d_member.offset


cdef inline void _set(made, Py_ssize_t slot, value) noexcept:
    """Set what a slot of an object holds that nobody else knows yet."""
    cdef PyObject **place = <PyObject **>(<char *><PyObject *>made + slot)
    cdef PyObject *before = place[0]
    Py_INCREF(value)
    place[0] = <PyObject *>value
    Py_XDECREF(before)


cdef object _read_struct(_Cursor *at, _Struct struct, view):
    cdef _Field field
    cdef _Default default
    made = PyType_GenericAlloc(<PyTypeObject *>struct.cls, 0)
    _set(made, struct.unknown_slot, _no_tags)
    for default in struct.defaults:
        _set(made, default.slot, [] if default.is_list else default.value)
    for field in struct.inline:
        _set(made, field.slot, _read(at, field, view))
    if struct.is_flexible:
        _read_tags(at, struct, made, view)
    return made


cdef int _read_tags(_Cursor *at, _Struct struct, made, view) except -1:
    cdef uint32_t count = _read_varint(at)
    cdef int64_t tag, last_tag = -1
    cdef Py_ssize_t end
    cdef uint32_t size, _
    cdef _Field field
    cdef dict unknown = None
    for _ in range(count):
        tag = _read_varint(at)
        if tag <= last_tag:
            raise _BadBytesError(f"tag {tag} after tag {last_tag}: tags must rise")
        last_tag = tag
        size = _read_varint(at)
        end = at.position + size
        if end > at.size:
            left = at.size - at.position
            raise _BadBytesError(f"tag {tag} of {size} bytes, but {left} are left")
        for field in struct.tagged:
            if field.tag == tag:
                _set(made, field.slot, _read(at, field, view))
                if at.position != end:
                    raise wire.bad_tag_size(tag, at.position - end)
                break
        else:
            if unknown is None:
                unknown = {}
            unknown[tag] = PyBytes_FromStringAndSize(<const char *>at.data + at.position, size)
            at.position = end
    if unknown is not None:
        _set(made, struct.unknown_slot, unknown)
    return 0


cdef object _read(_Cursor *at, _Field field, view):
    cdef int kind = field.kind
    if kind == _INT32:
        return <int32_t>read_uint32(_take(at, 4))
    if kind == _INT64:
        return <int64_t>read_uint64(_take(at, 8))
    if kind == _INT16:
        return <int16_t>read_uint16(_take(at, 2))
    if kind == _INT8:
        return <int8_t>_take(at, 1)[0]
    if kind == _BOOL:
        return _take(at, 1)[0] != 0
    if kind == _UUID:
        return _uuid_of(PyBytes_FromStringAndSize(<const char *>_take(at, 16), 16))
    if kind == _UINT16:
        return read_uint16(_take(at, 2))
    if kind == _UINT32:
        return read_uint32(_take(at, 4))
    if kind == _FLOAT64:
        return PyFloat_Unpack8(<const char *>_take(at, 8), 0)
    if kind == _STRUCT:
        return _read_nested(at, field, view)
    if kind == _ARRAY:
        return _read_array(at, field, view)
    return _read_sized(at, field, view)


cdef object _read_nested(_Cursor *at, _Field field, view):
    """Read a struct, after a marker if it may be null: -1 (0 where it is tagged) or 1."""
    cdef int marker
    if field.is_nullable:
        marker = _take(at, 1)[0]
        if not field.is_tagged:
            marker = <int8_t>marker
        if marker == (0 if field.is_tagged else -1):
            return None
        if marker != 1:
            raise wire.bad_marker(field.path, marker)
    return _read_struct(at, field.struct, view)


cdef object _read_sized(_Cursor *at, _Field field, view):
    """Read a string, bytes or record data after its length."""
    cdef int64_t length
    cdef Py_ssize_t start
    cdef const char *data
    if field.is_compact:
        length = <int64_t>_read_varint(at) - 1
        if field.kind == _STRING and length > _LONGEST_STRING:
            raise _BadBytesError(f"a string of {length} bytes, more than {_LONGEST_STRING}")
    elif field.kind == _STRING:
        length = <int16_t>read_uint16(_take(at, 2))
    else:
        length = <int32_t>read_uint32(_take(at, 4))
    if length == -1 and field.is_nullable:
        return None
    if length < 0 or length > at.size - at.position:
        raise wire.bad_length(field.path, length, at.size - at.position)
    start = at.position
    data = <const char *>at.data + start
    at.position += length
    if field.kind == _STRING:
        return PyUnicode_DecodeUTF8(data, length, NULL)
    if field.kind == _BYTES:
        return PyBytes_FromStringAndSize(data, length)
    return view[start : at.position] if length else _no_records


cdef object _read_array(_Cursor *at, _Field field, view):
    cdef int64_t count
    cdef Py_ssize_t index
    cdef _Field of = field.of
    cdef list values
    if field.is_compact:
        count = <int64_t>_read_varint(at) - 1
    else:
        count = <int32_t>read_uint32(_take(at, 4))
    if count == -1 and field.is_nullable:
        return None
    if count < 0:
        raise wire.bad_count(field.path, count, at.size - at.position)
    if count > _MOST_ELEMENTS and of.is_number:
        raise _BadBytesError(f"an array of {count} numbers, more than {_MOST_ELEMENTS}")
    if count > _MOST_ELEMENTS or count * of.smallest_size > at.size - at.position:
        if of.is_number:
            raise IndexError("an array of numbers ends early")
        raise wire.bad_count(field.path, count, at.size - at.position)
    values = PyList_New(count)  # that it is not more than the data can hold was checked
    for index in range(count):
        value = _read(at, of, view)
        Py_INCREF(value)
        PyList_SET_ITEM(values, index, value)
    return values


cdef inline const uint8_t *_take(_Cursor *at, Py_ssize_t size) except NULL:
    """Return where the next ``size`` bytes are, and step over them."""
    cdef const uint8_t *data = at.data + at.position
    if size > at.size - at.position:
        raise IndexError("the data ends early")
    at.position += size
    return data


cdef uint32_t _read_varint(_Cursor *at) except? 0:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        byte = _take(at, 1)[0]
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise _BadBytesError("a varint of more than 5 bytes")
    if value > 0xFFFFFFFF:
        raise _BadBytesError("a varint above 32 bits")
    if byte == 0 and shift:
        raise _BadBytesError("a varint longer than its value needs")
    return <uint32_t>value
