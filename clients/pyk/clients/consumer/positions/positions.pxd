cimport cython

from pyk.clients.consumer.buffer.fetch_buffer cimport FetchBuffer
from pyk.clients.consumer.positions.place cimport Place


@cython.final
cdef class Positions:
    cdef FetchBuffer _buffer
    cdef object _policy
    cdef object _backoff
    cdef object _chance
    cdef dict _places
    cdef object _saved
    cdef long long _followed_version
    cdef bint _has_news
    cpdef list places(self)
    @cython.locals(place=Place)
    cpdef follow(self, image)
    @cython.locals(place=Place)
    cpdef Place current(self, object topic_partition, long long version)
    cdef _compare_again(self, Place place)
