cimport cython

from pyk.clients.consumer.buffer.fetch_buffer cimport FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer cimport FetchWriter
from pyk.clients.consumer.fetching.fetch_call cimport FetchCall, FetchTerms, WantedPartition
from pyk.clients.consumer.fetching.fetch_memory cimport FetchMemory
from pyk.clients.consumer.fetching.fetch_plan cimport NodePlan
from pyk.clients.consumer.fetching.fetch_session cimport FetchSession, rotated
from pyk.clients.consumer.fetching.fetched_bytes cimport FetchedEnd
from pyk.clients.consumer.positions.assigned_partition cimport AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions cimport AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes cimport MetadataChanges
from pyk.clients.consumer.positions.positions cimport Positions
from pyk.clients.engine.request_path cimport RequestPath
from pyk.protocol.records.cursor cimport FetchedRecords


@cython.final
cdef class NodeFetcher:
    cdef RequestPath _client
    cdef object _now
    cdef AssignedPartitions _partitions
    cdef Positions _positions
    cdef MetadataChanges _metadata_changes
    cdef FetchBuffer _buffer
    cdef FetchWriter _writer
    cdef FetchMemory _memory
    cdef object _node_id
    cdef object _timeout_ms
    cdef long _max_wait_ms
    cdef bint _reads_committed
    cdef double _metadata_max_age
    cdef object _max_decompressed_bytes
    cdef FetchSession _session
    cdef bint _doubts_session
    cdef bint _has_more
    cdef readonly bint is_running
    cdef readonly long long answers
    cdef readonly long partition_count
    cdef readonly NodePlan plan_under_way
    cdef long _failures
    cdef double _retry_at
    cdef long _turn
    cdef long _empty_answers
    cpdef double waits_until(self) except? -1
    cpdef start(self, NodePlan node_plan)
    @cython.locals(waits_until=double, node_plan=NodePlan)
    cdef _go_on(self, double now)
    cdef _break_off(self, mistake)
    @cython.locals(node_plan=NodePlan)
    cdef NodePlan _plan(self, double now)
    @cython.locals(request=FetchCall, waiter=FetchWaiter)
    cdef _send(self, NodePlan node_plan, double now)
    @cython.locals(now=double)
    cdef answered(self, FetchWaiter waiter, response)
    cdef failed(self, FetchWaiter waiter, error)
    @cython.locals(wait_ms=long)
    cdef FetchCall _request(self, NodePlan node_plan)
    cdef long _hurried_wait_ms(self) except -1
    cdef _slow_down(self, FetchWaiter waiter, double now)
    @cython.locals(asked=WantedPartition, assigned=AssignedPartition)
    cdef _request_failed(self, NodePlan node_plan, error, double now)
    @cython.locals(leaders=dict, expected=dict, has_records=bint, asked=WantedPartition, assigned=AssignedPartition)
    cdef _take(self, NodePlan node_plan, response, double now)
    cdef _take_partition(self, AssignedPartition assigned, WantedPartition asked, data, double now)
    @cython.locals(end=FetchedEnd, fetched=FetchedRecords)
    cdef _take_records(self, AssignedPartition assigned, WantedPartition asked, data, double now)
    cdef _partition_failed(
        self, AssignedPartition assigned, WantedPartition asked, data, dict leaders, double now
    )
    cdef _out_of_range(self, AssignedPartition assigned, long long asked_offset, double now)


@cython.final
cdef class FetchWaiter:
    cdef NodeFetcher _fetcher
    cdef readonly NodePlan node_plan
    cdef readonly long max_wait_ms
    cdef readonly double sent_at
    cdef bint _is_done
    cpdef done(self)
    cpdef set_result(self, response)
    cpdef set_exception(self, error)


@cython.locals(waiter=FetchWaiter)
cdef FetchWaiter _new_waiter(
    NodeFetcher fetcher, NodePlan node_plan, long max_wait_ms, double sent_at
)
