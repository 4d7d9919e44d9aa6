cimport cython

from pyk.protocol.wire_numbers cimport bytearray_of, get_int32, has_bytes, put_int32


cdef int _SIZE_BYTES
cdef int _CORRELATION_ID_AT
cdef int _CORRELATION_ID_BYTES
cdef long _LAST_CORRELATION_ID


cdef class SelfCodedRequest:
    cdef readonly object api_key
    cdef public bint is_answered

    cpdef list encode_parts(self, version, bytearray out)
    cpdef object read_response(self, frame, version, Py_ssize_t start)


@cython.final
cdef class Reply:
    cdef readonly long correlation_id
    cdef readonly object response
    cdef readonly object version
    cdef readonly object context


@cython.final
cdef class _Exchange:
    cdef object api_key
    cdef int number
    cdef int version
    cdef bytes frame_start
    cdef bint has_tags
    cdef object response_class
    cdef object _decode
    cdef object decoded(self, frame, Py_ssize_t start)


@cython.final
@cython.freelist(8)
cdef class _InFlight:
    cdef long correlation_id
    cdef _Exchange exchange
    cdef readonly object context
    cdef SelfCodedRequest reader


@cython.final
cdef class ClientConnection:
    cdef object _client_id
    cdef public long _next_correlation_id
    cdef object _in_flight
    cdef dict _exchanges
    cdef _Exchange _last_exchange

    @cython.locals(
        exchange=_Exchange,
        reader=SelfCodedRequest,
        parts=list,
        size=Py_ssize_t,
        correlation_id=long,
        number=int,
        is_answered=bint,
        is_last=bint,
    )
    cpdef tuple send(self, request, int version, context=*)
    @cython.locals(waiting=_InFlight, exchange=_Exchange, position=Py_ssize_t, received_id=long)
    cpdef Reply receive(self, frame)
    @cython.locals(exchange=_Exchange)
    cdef _Exchange _exchange(self, int number, int version)


@cython.locals(waiting=_InFlight)
cdef _InFlight _new_in_flight(
    long correlation_id, _Exchange exchange, context, SelfCodedRequest reader
)


cdef bint _has_plain_header(frame, Py_ssize_t end) except -1
cdef tuple _read_response_header(frame, bint has_tags)
cpdef bint expects_response(request) except -1
