"""Wait for events of the descriptors that a loop's selector watches, by ``epoll_wait`` itself.

Where there is no epoll, by the selector.
"""

import selectors
from libc.errno cimport EINTR, errno
from libc.math cimport ceil
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

cdef extern from *:
    """
    #ifdef __linux__
    #include <sys/epoll.h>
    #define PYK_HAS_EPOLL 1
    #else
    #define PYK_HAS_EPOLL 0
    typedef union { int fd; } epoll_data_t;
    struct epoll_event { unsigned int events; epoll_data_t data; };
    enum { EPOLLIN = 1, EPOLLOUT = 4 };
    static int epoll_wait(int epoll, struct epoll_event *events, int most, int ms) { return -1; }
    #endif
    """
    ctypedef union epoll_data_t:
        int fd
    struct epoll_event:
        uint32_t events
        epoll_data_t data
    const bint PYK_HAS_EPOLL
    const uint32_t EPOLLIN, EPOLLOUT
    int epoll_wait(int epoll, epoll_event *events, int most, int milliseconds) nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
    object PyErr_SetFromErrno(object kind)

cdef enum:
    _EVENT_READ = 1  # as in `selectors`
    _EVENT_WRITE = 2
    _MOST_EVENTS = 64  # the rest comes with the next wait
    _NO_EPOLL = -1


cpdef int note_signals() except -1:
    """Run the handlers of signals that came, which compiled code does not do by itself."""
    return PyErr_CheckSignals()


cdef class Poller:
    """Waits, and keeps the events that came until the next wait."""

    def __cinit__(self, selector):
        self._events = calloc(_MOST_EVENTS, sizeof(epoll_event))
        if self._events == NULL:
            raise MemoryError("cannot allocate events")
        self._select = selector.select
        self._keys = selector._fd_to_key
        self._selected = []
        is_epoll = PYK_HAS_EPOLL and type(selector) is getattr(selectors, "EpollSelector", None)
        self._epoll = selector.fileno() if is_epoll else _NO_EPOLL

    def __dealloc__(self):
        free(self._events)

    cpdef int wait(self, double seconds) except -1:
        if self._epoll == _NO_EPOLL:
            self._selected = self._select(seconds)
            return len(self._selected)
        cdef epoll_event *events = <epoll_event *>self._events
        cdef int count, error, milliseconds
        if seconds <= 0:
            count = epoll_wait(self._epoll, events, _MOST_EVENTS, 0)
            error = errno
        else:
            milliseconds = <int>ceil(seconds * 1000)
            with nogil:
                count = epoll_wait(self._epoll, events, _MOST_EVENTS, milliseconds)
                error = errno
        if count >= 0:
            return count
        return _interrupted(error)

    cpdef object key(self, int index):
        if self._epoll == _NO_EPOLL:
            return self._selected[index][0]
        return self._keys.get((<epoll_event *>self._events)[index].data.fd)

    cpdef int mask(self, int index) except -1:
        if self._epoll == _NO_EPOLL:
            return self._selected[index][1]
        cdef uint32_t events = (<epoll_event *>self._events)[index].events
        return (
            (_EVENT_READ if events & ~EPOLLOUT else 0)
            | (_EVENT_WRITE if events & ~EPOLLIN else 0)
        )


cdef int _interrupted(int error) except -1:
    """Run the handlers of signals that ended a wait, and return that nothing came."""
    global errno
    if error != EINTR:
        errno = error
        PyErr_SetFromErrno(OSError)
    PyErr_CheckSignals()
    return 0
