"""Send to and receive from a connected socket that never blocks, without a Python call.

The compiled form of ``stream_socket.py``, which says what each method promises.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport errno

cdef extern from *:
    """
    #include <errno.h>
    #ifdef _WIN32  /* asyncio's own transports are used there */
    struct iovec { void *iov_base; size_t iov_len; };
    static Py_ssize_t pyk_receive(int fd, void *into, size_t size) { errno = ENOSYS; return -1; }
    static Py_ssize_t pyk_send(int fd, struct iovec *parts, int count) { errno = ENOSYS; return -1; }
    #else
    #include <string.h>
    #include <sys/socket.h>
    #include <sys/uio.h>
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0
    #endif
    static Py_ssize_t pyk_receive(int fd, void *into, size_t size) {
        return recv(fd, into, size, MSG_DONTWAIT);
    }
    static Py_ssize_t pyk_send(int fd, struct iovec *parts, int count) {
        struct msghdr message;
        memset(&message, 0, sizeof(message));
        message.msg_iov = parts;
        message.msg_iovlen = count;
        return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    #endif
    static int pyk_must_wait(int error) {
        return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
    }
    """
    struct iovec:
        void *iov_base
        size_t iov_len
    Py_ssize_t pyk_receive(int fd, void *into, size_t size) nogil
    Py_ssize_t pyk_send(int fd, iovec *parts, int count) nogil
    bint pyk_must_wait(int error)

cdef extern from "Python.h":
    object PyErr_SetFromErrno(object kind)

cdef enum:
    # Of more, other threads may run while the kernel copies.
    _MOST_WITH_LOCK = 64 * 1024
    _PARTS_AT_ONCE = 16


cdef class StreamSocket:
    def __init__(self, connection):
        connection.setblocking(False)
        self._connection = connection
        self._descriptor = connection.fileno()

    def fileno(self):
        return self._descriptor

    cpdef Py_ssize_t receive_into(self, buffer) except -2:
        cdef Py_buffer into
        cdef Py_ssize_t count
        PyObject_GetBuffer(buffer, &into, PyBUF_WRITABLE)
        if into.len <= _MOST_WITH_LOCK:
            count = pyk_receive(self._descriptor, into.buf, into.len)
        else:
            with nogil:
                count = pyk_receive(self._descriptor, into.buf, into.len)
        cdef int error = errno
        PyBuffer_Release(&into)
        return count if count >= 0 else _failed(error)

    cpdef Py_ssize_t send_parts(self, list parts) except -1:
        cdef Py_ssize_t left = 0, first = 0, offered, sent
        for part in parts:
            left += len(part)
        while left > 0:
            sent = self._send_some(parts, &first, &offered)
            if sent > 0:
                left -= sent
            if sent < offered:
                break
        return left

    def close(self):
        self._descriptor = -1
        self._connection.close()

    cdef Py_ssize_t _send_some(
        self, list parts, Py_ssize_t *first, Py_ssize_t *offered
    ) except -2:
        """Send the parts from ``first`` on, as many as go at once; -1 if there is no room."""
        cdef Py_buffer views[_PARTS_AT_ONCE]
        cdef iovec pieces[_PARTS_AT_ONCE]
        cdef Py_ssize_t size = 0, sent
        cdef int count = 0, error
        try:
            while count < _PARTS_AT_ONCE and first[0] < len(parts):
                PyObject_GetBuffer(parts[first[0]], &views[count], PyBUF_SIMPLE)
                pieces[count].iov_base = views[count].buf
                pieces[count].iov_len = views[count].len
                size += views[count].len
                count += 1
                first[0] += 1
            if size <= _MOST_WITH_LOCK:
                sent = pyk_send(self._descriptor, pieces, count)
            else:
                with nogil:
                    sent = pyk_send(self._descriptor, pieces, count)
            error = errno
        finally:
            while count > 0:
                count -= 1
                PyBuffer_Release(&views[count])
        offered[0] = size
        return sent if sent >= 0 else _failed(error)


cdef Py_ssize_t _failed(int error) except -2:
    """Return -1 if the socket would have to wait, otherwise raise the error."""
    global errno
    if pyk_must_wait(error):
        return -1
    errno = error
    PyErr_SetFromErrno(OSError)
