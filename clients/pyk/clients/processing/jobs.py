"""Order the records that are handled, and tell which offsets are finished. Pure.

A :class:`Job` is one record on its way through a handler, or the first of a batch that is handled
in one call; the others are its *mates*. A job is *waiting* behind another one of
its lane, *ready*, *running*, or *finished*. A lane is what must stay in order: a partition, or a
key of a partition.

::

    add ──► waiting ──► ready ──► running ──► finished
              │           ▲ a job of its lane finished
              └───────────┘

The jobs of a partition are kept in the order of their offsets until all before them are finished
too. So the first one that is kept is the first offset that must not be committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.results import ProducerRecord
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import RecordSpan

# How many records of a partition may be kept, at least, before it is paused.
LEAST_QUEUE = 500
# How many finished records may be kept behind one that is not: they are memory here, and are
# handled again after a crash as far as the note in a commit cannot name them.
MAX_AHEAD = 50_000


class Ordering(Enum):
    """What is handled in order: one record after the other."""

    PARTITION = "partition"
    KEY = "key"
    """Records without a key have no order."""
    NONE = "none"


class Job:
    """One record on its way through a handler."""

    __slots__ = (
        "attempts",
        "is_finished",
        "is_moved",
        "is_overdue",
        "lane",
        "mates",
        "offset",
        "partition",
        "record",
        "results",
        "span",
        "then",
        "to_leave",
        "was_told_to_stop",
        "worker",
    )

    def __init__(self, record: Any, partition: PartitionJobs) -> None:
        self.record = record
        self.offset: int = record.offset
        self.partition = partition
        self.lane: object = None
        self.attempts = 0
        """How often the handler was called."""
        self.worker: Any = None
        """The task that runs it, as long as it runs."""
        self.is_overdue: Callable[[], bool] | None = None
        """Tells whether the call has taken longer than it may, where nothing cancels it then."""
        self.was_told_to_stop = False
        """Whether the handler has heard that its result will not count."""
        self.is_finished = False
        self.results: Sequence[ProducerRecord] = ()
        """What is written before it is finished."""
        self.is_moved = False
        """Whether that is the record itself, on its way to another topic."""
        self.span: RecordSpan | None = None
        """Where the record was read, for a table of a batch."""
        self.mates: Sequence[Job] = ()
        """The jobs that are handled in one call with this one, in order."""
        self.then: Job | None = None
        """The rest of a batch that was split: it comes next."""
        self.to_leave: Sequence[Job] = ()
        """Those of a batch whose lanes go on after it, one of each lane."""

    @property
    def members(self) -> Sequence[Job]:
        """All jobs that are handled in one call: this one and its mates."""
        return (self, *self.mates) if self.mates else (self,)

    def split(self) -> None:
        """Make two batches of one that has failed: this one, and then the rest.

        Each gets one more call before it is split again.
        """
        members = self.members
        middle = len(members) // 2
        rest = members[middle]
        rest.mates, rest.attempts = members[middle + 1 :], self.attempts - 1
        rest.to_leave, rest.then = self.to_leave, self.then
        # The lanes go on after the rest, which may have records of each of them.
        self.mates, self.then, self.to_leave = members[1:middle], rest, (self,)
        self.attempts -= 1


class PartitionJobs:
    """The jobs of one assigned partition."""

    def __init__(
        self, assignment: Assignment, limit: int, done: Collection[int] = frozenset()
    ) -> None:
        self.assignment = assignment
        self.running: set[Job] = set()
        self.is_paused = False
        """Whether no more of this partition should be handed out."""
        self.is_paused_by_application = False
        """Whether it stays paused once it need not be any more."""
        self.is_closing = False
        """Whether no more of its jobs may begin."""
        self.is_cancelled = False
        """Whether those that run have to stop, because the partition goes or is gone."""
        self._limit = limit
        self._done = done
        self._kept: deque[Job] = deque()
        self._unfinished = 0
        self._lanes: dict[object, deque[Job]] = {}
        self.next_offset = 0
        """The offset after all that were added."""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.assignment.topic_partition

    def follows(self, offset: int) -> bool:
        """Return whether an offset comes after all that were added: False after a seek back."""
        return offset >= self.next_offset

    def add(self, record: Any) -> Job | None:
        """Keep a record as a job; return None if an earlier run has finished it."""
        job = Job(record, self)
        self.next_offset = job.offset + 1
        if job.offset in self._done:
            if self._kept:
                job.is_finished = True
                self._kept.append(job)
            return None
        self._kept.append(job)
        self._unfinished += 1
        return job

    def enter_lane(self, job: Job, lane: object) -> bool:
        """Put a job in its lane; return whether it is the first there."""
        job.lane = lane
        waiting = self._lanes.get(lane)
        if waiting is None:
            self._lanes[lane] = _NOTHING
            return True
        if waiting is _NOTHING:
            waiting = self._lanes[lane] = deque()
        waiting.append(job)
        return False

    def take_waiting(self, lane: object, count: int) -> list[Job]:
        """Return at most so many jobs that wait in a lane, which stays with the job before them."""
        waiting = self._lanes.get(lane) or _NOTHING
        return [waiting.popleft() for _ in range(min(count, len(waiting)))]

    def leave_lane(self, job: Job) -> Job | None:
        """Take a finished job out of its lane; return the next one there."""
        waiting = self._lanes.get(job.lane)
        if waiting:
            return waiting.popleft()
        self._lanes.pop(job.lane, None)
        return None

    def finish(self, job: Job) -> None:
        """Record that a job is finished, and drop what need not be kept any more."""
        kept = self._kept
        for member in job.members:
            member.span = None
            if not member.is_finished:  # as one is that was cut off
                member.is_finished = True
                self._unfinished -= 1
        job.results = ()
        while kept and kept[0].is_finished:
            kept.popleft()
        if kept:
            for member in job.members:
                member.record = None

    def restart(self, written: Collection[Job] = ()) -> tuple[int | None, list[int]]:
        """Return the first unfinished offset, None if there is none, and the finished ones after
        it; jobs that are ``written`` count as finished."""
        unfinished = next((j for j in self._kept if not j.is_finished and j not in written), None)
        if unfinished is None:
            return None, []
        first = unfinished.offset
        finished = (j.offset for j in self._kept if j.is_finished or j in written)
        return first, [offset for offset in finished if offset > first]

    def cut_back(self, offset: int) -> None:
        """Forget the jobs from an offset on, where other records come now; those that run go on."""
        for job in self._kept:
            if job.offset >= offset and not job.is_finished:
                job.is_finished = True
                self._unfinished -= 1
        self._kept = deque(job for job in self._kept if job.offset < offset)
        for lane, waiting in list(self._lanes.items()):
            if waiting:
                self._lanes[lane] = deque(job for job in waiting if job.offset < offset)
        self._done = frozenset(one for one in self._done if one < offset)
        self.next_offset = offset

    def end_lane(self, job: Job) -> None:
        """Forget the lanes of a job that will not run; all that waits there comes after it."""
        ending: Job | None = job
        while ending is not None:
            for each in ending.to_leave or (ending,):
                self._lanes.pop(each.lane, None)
            ending = ending.then

    def close(self) -> None:
        """Begin no more of these jobs."""
        self.is_closing = True
        self._lanes.clear()

    def update_pause(self) -> bool:
        """Decide again whether the partition is paused; return whether that has changed."""
        kept, unfinished = len(self._kept), self._unfinished
        was_paused = self.is_paused
        if was_paused:
            is_low = unfinished <= self._limit // 2 and kept <= MAX_AHEAD // 2
            self.is_paused = not is_low
        else:
            self.is_paused = unfinished >= self._limit or kept >= MAX_AHEAD
        return self.is_paused is not was_paused

    @property
    def first_unfinished(self) -> int | None:
        """The offset of the first job that is not finished, None if all are."""
        return self._kept[0].offset if self._kept else None

    def should_resume(self) -> bool:
        """Return whether the partition was paused, and is not any more."""
        return self.is_paused and self.update_pause()

    def unfinished(self) -> list[int]:
        """Return the offsets that are not finished, in order."""
        return [job.offset for job in self._kept if not job.is_finished]


_NOTHING: deque[Job] = deque()


class Jobs:
    """The jobs of all partitions of a consumer, and which is the next to run.

    ``concurrency`` is how many may run at once.
    """

    def __init__(self, ordering: Ordering, concurrency: int) -> None:
        self.is_stopping = False
        """Whether no more jobs may begin."""
        self._ordering = ordering
        self._limit = max(LEAST_QUEUE, 2 * concurrency)
        self._ready: deque[Job] = deque()
        self._partitions: dict[Assignment, PartitionJobs] = {}

    def __iter__(self) -> Iterator[PartitionJobs]:
        return iter(list(self._partitions.values()))

    def of(self, assignment: Assignment) -> PartitionJobs | None:
        """Return the jobs of a partition, None if it had no record yet."""
        return self._partitions.get(assignment)

    def begin(self, assignment: Assignment, done: Collection[int] = frozenset()) -> PartitionJobs:
        """Return new jobs of a partition, of which ``done`` are finished by an earlier run."""
        created = self._partitions[assignment] = PartitionJobs(assignment, self._limit, done)
        return created

    def add(
        self, partition: PartitionJobs, records: Iterable[Any], span: RecordSpan | None = None
    ) -> None:
        """Add records of a partition, in the order of their offsets; they are those of ``span``."""
        ordering, ready = self._ordering, self._ready
        for record in records:
            job = partition.add(record)
            if job is None:
                continue
            job.span = span
            if ordering is Ordering.PARTITION:
                is_first = partition.enter_lane(job, None)
            elif ordering is Ordering.KEY and record.key is not None:
                is_first = partition.enter_lane(job, record.key)
            else:
                is_first = True
            if is_first:
                ready.append(job)

    def cut_back(self, partition: PartitionJobs, offset: int) -> None:
        """Forget the jobs of a partition from an offset on: its log was truncated there, and other
        records come now. Those that run go on."""
        for _ in range(len(self._ready)):
            job = self._ready.popleft()
            if job.partition is partition and job.offset >= offset:
                partition.end_lane(job)
            else:
                self._ready.append(job)
        partition.cut_back(offset)

    def next(self) -> Job | None:
        """Take the next job that may run, None if there is none."""
        while self._ready and not self.is_stopping:
            job = self._ready.popleft()
            if not job.partition.is_closing:
                job.partition.running.add(job)
                return job
        return None

    def next_batch(self, limit: int) -> Job | None:
        """Take the next job, with mates of its partition: at most ``limit`` jobs together."""
        job = self.next()
        if job is None or job.to_leave:  # to be called again
            return job
        partition, members, heads, head = job.partition, [job], [job], job
        while True:
            if self._ordering is not Ordering.NONE:
                members += partition.take_waiting(head.lane, limit - len(members))
            ready = self._ready
            if len(members) >= limit or not ready or ready[0].partition is not partition:
                break
            if ready[0].to_leave:
                break
            head = ready.popleft()
            heads.append(head)
            members.append(head)
        job.mates = tuple(members[1:])
        job.to_leave = heads
        return job

    def finish(self, job: Job) -> bool:
        """Record that a job is finished; return whether its partition has to be resumed.

        A job that stops without being finished blocks its lane.
        """
        job.partition.finish(job)
        self.leave_lane(job)
        return job.partition.should_resume()

    def leave_lane(self, job: Job) -> None:
        """Let the next job of a lane begin, because the handler of the one before is done."""
        if job.partition.is_closing:
            return
        if job.then is not None:
            self._ready.append(job.then)
        elif self._ordering is not Ordering.NONE:
            for each in job.to_leave or (job,):
                following = job.partition.leave_lane(each)
                if following is not None:
                    self._ready.append(following)

    def resume(self, job: Job) -> None:
        """Let a job run again that has waited for its next attempt, in its place of its lane."""
        if not job.partition.is_closing:
            self._ready.append(job)

    @property
    def ready_count(self) -> int:
        """How many jobs could begin now, at most."""
        return 0 if self.is_stopping else len(self._ready)

    def close(self, topic_partitions: Collection[TopicPartition]) -> list[PartitionJobs]:
        """Begin no more jobs of partitions, and return them."""
        closing = [p for p in self if p.topic_partition in topic_partitions]
        for partition in closing:
            partition.close()
        return closing

    def forget(self, partitions: Iterable[PartitionJobs]) -> None:
        """Forget partitions: what still runs of them does not count any more."""
        for partition in partitions:
            partition.is_cancelled = True
            if self._partitions.get(partition.assignment) is partition:
                del self._partitions[partition.assignment]
