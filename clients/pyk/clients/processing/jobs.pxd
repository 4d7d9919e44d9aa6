cdef class Job:
    cdef public object record
    cdef public long long offset
    cdef public PartitionJobs partition
    cdef public object lane
    cdef public int attempts
    cdef public object worker
    cdef public bint is_finished
    cdef public object results
    cdef public bint is_moved
    cdef public object is_overdue
    cdef public bint was_told_to_stop
    cdef public object span
    cdef public tuple mates
    cdef public Job then
    cdef public object to_leave


cdef class PartitionJobs:
    cdef readonly object assignment
    cdef readonly set running
    cdef public bint is_paused
    cdef public bint is_paused_by_application
    cdef public bint is_closing
    cdef public bint is_cancelled
    cdef Py_ssize_t _limit
    cdef object _done
    cdef object _kept
    cdef Py_ssize_t _unfinished
    cdef dict _lanes
    cdef public long long next_offset
    cpdef Job add(self, object record)
    cpdef bint enter_lane(self, Job job, object lane)
    cpdef Job leave_lane(self, Job job)
    cpdef finish(self, Job job)
    cpdef bint update_pause(self)
    cpdef bint should_resume(self)


cdef class Jobs:
    cdef public bint is_stopping
    cdef object _ordering
    cdef Py_ssize_t _limit
    cdef object _ready
    cdef dict _partitions
    cpdef Job next(self)
    cpdef bint finish(self, Job job)
    cpdef leave_lane(self, Job job)
