# How one record lies in memory: inlined into the compiled modules that walk records.

from libc.stdint cimport int32_t, int64_t, uint8_t

from pyk.protocol.records.compiled.varints cimport read_varint, read_varlong

cdef enum:
    MIN_RECORD_BYTES = 7
    _MIN_HEADER_BYTES = 2

# The numbers of pyk.protocol.records.errors.
cdef enum:
    RECORD_LENGTH = 3
    KEY_LENGTH = 4
    VALUE_LENGTH = 5
    HEADER_COUNT = 6
    HEADER_KEY_LENGTH = 7
    HEADER_KEY_TEXT = 8
    HEADER_VALUE_LENGTH = 9
    RECORD_BODY = 10
    OFFSET_DELTA = 11
    TIMESTAMP_DELTA = 12
    TRAILING_BYTES = 13
    MISSING_RECORDS = 14
    OFFSETS = 15


cdef struct RecordFields:
    int64_t timestamp_delta
    int32_t offset_delta
    int32_t key_length    # -1 is null
    int32_t value_length  # -1 is null
    int32_t header_count
    const uint8_t *key
    const uint8_t *value
    const uint8_t *headers
    const uint8_t *end


# What buffers the columns of some records take.
cdef struct RecordSizes:
    int64_t key_bytes
    int64_t value_bytes
    int64_t headers
    int64_t header_key_bytes
    int64_t header_value_bytes
    int64_t null_keys
    int64_t null_values
    int64_t null_header_values
    int64_t without_headers


cdef inline int read_bytes(
    const uint8_t **position,
    const uint8_t *end,
    const uint8_t **data,
    int32_t *length,
    int problem,
) noexcept nogil:
    cdef int varint_problem = read_varint(position, end, length)
    if varint_problem:
        return varint_problem
    data[0] = position[0]
    if length[0] < 0:
        return 0 if length[0] == -1 else problem
    if length[0] > end - position[0]:
        return problem
    position[0] += length[0]
    return 0


cdef inline bint is_utf8(const uint8_t *text, Py_ssize_t length) noexcept nogil:
    """Return whether ``text`` is valid UTF-8: no overlong form, surrogate or code above 10FFFF."""
    cdef const uint8_t *end = text + length
    cdef uint8_t first, low, high
    cdef int follow
    while text < end:
        first = text[0]
        text += 1
        if first < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= first <= 0xDF:
            follow = 1
        elif 0xE0 <= first <= 0xEF:
            follow = 2
            if first == 0xE0:
                low = 0xA0
            elif first == 0xED:
                high = 0x9F
        elif 0xF0 <= first <= 0xF4:
            follow = 3
            if first == 0xF0:
                low = 0x90
            elif first == 0xF4:
                high = 0x8F
        else:
            return False
        if follow > end - text or text[0] < low or text[0] > high:
            return False
        text += 1
        follow -= 1
        while follow:
            if text[0] & 0xC0 != 0x80:
                return False
            text += 1
            follow -= 1
    return True


cdef inline int decode_record(
    const uint8_t *position, const uint8_t *end, RecordFields *fields
) noexcept nogil:
    """Decode the record at ``position``, its headers left as they are; return 0 or the problem."""
    cdef int32_t length = 0
    cdef int problem = read_varint(&position, end, &length)
    if problem:
        return problem
    if length < MIN_RECORD_BYTES - 1 or length > end - position:
        return RECORD_LENGTH
    end = position + length
    fields.end = end
    position += 1
    problem = read_varlong(&position, end, &fields.timestamp_delta)
    if problem:
        return problem
    problem = read_varint(&position, end, &fields.offset_delta)
    if problem:
        return problem
    problem = read_bytes(&position, end, &fields.key, &fields.key_length, KEY_LENGTH)
    if problem:
        return problem
    problem = read_bytes(&position, end, &fields.value, &fields.value_length, VALUE_LENGTH)
    if problem:
        return problem
    problem = read_varint(&position, end, &fields.header_count)
    if problem:
        return problem
    if fields.header_count < 0 or fields.header_count > (end - position) // _MIN_HEADER_BYTES:
        return HEADER_COUNT
    fields.headers = position
    return 0


cdef inline int measure_record(RecordFields *fields, RecordSizes *sizes) noexcept nogil:
    """Add to ``sizes`` what ``fields`` hold and check the headers; return 0 or the problem."""
    cdef const uint8_t *position = fields.headers
    cdef const uint8_t *data
    cdef int32_t length = 0, index
    cdef int problem
    if fields.key_length < 0:
        sizes.null_keys += 1
    else:
        sizes.key_bytes += fields.key_length
    if fields.value_length < 0:
        sizes.null_values += 1
    else:
        sizes.value_bytes += fields.value_length
    if fields.header_count == 0:
        sizes.without_headers += 1
        return 0 if position == fields.end else RECORD_BODY
    sizes.headers += fields.header_count
    for index in range(fields.header_count):
        problem = read_varint(&position, fields.end, &length)
        if problem:
            return problem
        if length < 0 or length > fields.end - position:
            return HEADER_KEY_LENGTH
        if not is_utf8(position, length):
            return HEADER_KEY_TEXT
        sizes.header_key_bytes += length
        position += length
        problem = read_bytes(&position, fields.end, &data, &length, HEADER_VALUE_LENGTH)
        if problem:
            return problem
        if length < 0:
            sizes.null_header_values += 1
        else:
            sizes.header_value_bytes += length
    return 0 if position == fields.end else RECORD_BODY
