"""A tiny correct model of a cluster with transactions, of its clients, and ways to break it.

It knows nothing of pyk: it makes histories for the checker. Each process is a generator; wherever
it yields, chance lets another one go on. ``Sabotage`` names what can be done wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from random import Random
from typing import TypeVar

from pykcheck import History, Recorder

T = TypeVar("T")
Steps = Generator[None, None, None]


class Sabotage(Enum):
    """What the broker or a client does wrong."""

    SKIP_A_MARKER = "a partition gets no marker"
    WRONG_MARKER = "an aborted transaction gets markers of a commit"
    ABORT_ONE_PARTITION = "one partition of a committed transaction gets the marker of an abort"
    NO_FENCING = "InitProducerId does not bump the epoch"
    NO_BUMP_AT_THE_END = "EndTxn does not bump the epoch, so a late one decides the next"
    ACCEPT_ANY_EPOCH = "records of a fenced producer are appended"
    REUSE_A_SEQUENCE = "a new record gets the sequence of an old one, and is taken for its retry"
    NO_SEQUENCES = "a retry is appended again"
    ANSWER_BEFORE_THE_APPEND = "an acknowledged record is not appended"
    WRONG_OFFSET = "an acknowledgement names another offset"
    OVERTAKING = "a record that failed at first is retried behind the next one"
    OTHER_PARTITION = "a record is appended to another partition"
    LOSE_THE_TAIL = "a new leader lacks an acknowledged record"
    READ_PAST_THE_STABLE_OFFSET = "fetches end at the log's end"
    SHOW_ABORTED = "aborted records are not filtered"
    SKIP_A_RECORD = "a reader's position moves by one too many"
    READ_TWICE = "a reader's position does not move"
    COMMIT_OFFSETS_OUTSIDE = "offsets are committed at once, and not with their transaction"
    COMMIT_AHEAD = "an offset beyond what was handed out is committed"
    UNSTABLE_OFFSETS = "pending offsets are shown to whoever asks"
    FORGET_OFFSETS = "offsets are not applied when their transaction commits"
    FORGET_TO_GO_BACK = "after an abort the consumer goes on instead of going back"


class FencedError(Exception):
    """Another instance has taken over."""


class CrashError(Exception):
    """This instance ends here."""


@dataclass(slots=True)
class Entry:
    """A record, or a marker, which has no value."""

    value: str | None
    owner: str = ""
    is_aborted: bool = False


@dataclass(slots=True)
class Id:
    """A transactional id, with its open transaction."""

    epoch: int = 0
    last_end: bool | None = None
    partitions: dict[str, int] = field(default_factory=dict)
    """Where the transaction has its first record."""
    offsets: dict[str, int] = field(default_factory=dict)


class Broker:
    """Logs, transactional ids, and the offsets of one group. Every method is one atomic step."""

    def __init__(self, random: Random, sabotage: Sabotage | None) -> None:
        self.logs: dict[str, list[Entry]] = defaultdict(list)
        self.ids: dict[str, Id] = defaultdict(Id)
        self.committed: dict[str, int] = {}
        self.generations: dict[str, int] = defaultdict(int)
        self._appended: dict[tuple[str, str], int] = {}
        """Offsets by partition and value: what sequence numbers are for."""
        self._random = random
        self._sabotage = sabotage

    def does(self, sabotage: Sabotage, chance: float = 1.0) -> bool:
        return self._sabotage is sabotage and self._random.random() < chance

    def init(self, name: str) -> int:
        state = self.ids[name]
        if self.does(Sabotage.NO_FENCING):
            return state.epoch
        if state.partitions or state.offsets:
            self._end(name, state, commit=False)
        state.epoch += 1
        state.last_end = None
        return state.epoch

    def append(self, partition: str, value: str, name: str = "", epoch: int = 0) -> int:
        if name and epoch != self.ids[name].epoch and not self.does(Sabotage.ACCEPT_ANY_EPOCH):
            raise FencedError
        log = self.logs[partition]
        known = self._appended.get((partition, value))
        if known is not None and not self.does(Sabotage.NO_SEQUENCES):
            return known
        if log and self.does(Sabotage.REUSE_A_SEQUENCE, 0.05):
            return len(log) - 1
        if self.does(Sabotage.ANSWER_BEFORE_THE_APPEND, 0.05):
            return len(log)
        if self.does(Sabotage.OTHER_PARTITION, 0.05):
            log = self.logs[partition := f"{partition[:-1]}9"]
        offset = len(log)
        log.append(Entry(value, name))
        self._appended[partition, value] = offset
        if name:
            self.ids[name].partitions.setdefault(partition, offset)
        elif self.does(Sabotage.LOSE_THE_TAIL, 0.1):
            log.pop()
        return offset + self.does(Sabotage.WRONG_OFFSET, 0.05)

    def add_offsets(
        self, name: str, epoch: int, generation: int, partition: str, offset: int
    ) -> None:
        state = self.ids[name]
        is_old = epoch != state.epoch or generation != self.generations[partition]
        if is_old and not self.does(Sabotage.NO_FENCING):
            raise FencedError
        if self.does(Sabotage.COMMIT_OFFSETS_OUTSIDE):
            self.committed[partition] = offset
        state.offsets[partition] = offset

    def end(self, name: str, epoch: int, *, commit: bool) -> int:
        """Write the markers and return the next epoch; a repeated request is answered again."""
        state = self.ids[name]
        if epoch == state.epoch - 1 and state.last_end is commit:
            return state.epoch
        if epoch != state.epoch:
            raise FencedError
        self._end(name, state, commit=commit or self.does(Sabotage.WRONG_MARKER))
        if not self.does(Sabotage.NO_BUMP_AT_THE_END):
            state.epoch += 1
            state.last_end = commit
        return state.epoch

    def _end(self, name: str, state: Id, *, commit: bool) -> None:
        for partition, first in state.partitions.items():
            log = self.logs[partition]
            is_aborted = not commit or self.does(Sabotage.ABORT_ONE_PARTITION, 0.2)
            if self.does(Sabotage.SKIP_A_MARKER, 0.1):
                continue
            for entry in log[first:]:
                if entry.owner == name:
                    entry.owner = ""
                    entry.is_aborted = is_aborted
            log.append(Entry(None))
        if commit and not self.does(Sabotage.FORGET_OFFSETS, 0.5):
            self.committed.update(state.offsets)
        state.partitions.clear()
        state.offsets.clear()

    def take_over(self, partition: str) -> tuple[int, int] | None:
        """Return the generation and committed offset of a new owner, None while one is pending."""
        pending = [
            each.offsets[partition] for each in self.ids.values() if partition in each.offsets
        ]
        offset = self.committed.get(partition, 0)
        if pending:
            if not self.does(Sabotage.UNSTABLE_OFFSETS):
                return None
            offset = pending[0]
        self.generations[partition] += 1
        return self.generations[partition], offset

    def fetch(
        self, partition: str, position: int, limit: int, *, committed: bool
    ) -> tuple[list[tuple[str, int, str]], int]:
        """Return up to so many records, and the next position."""
        log = self.logs[partition]
        end = len(log)
        if committed and not self.does(Sabotage.READ_PAST_THE_STABLE_OFFSET):
            end = next((offset for offset, each in enumerate(log) if each.owner), end)
        records: list[tuple[str, int, str]] = []
        while position < end and len(records) < limit:
            entry = log[position]
            is_hidden = committed and entry.is_aborted and not self.does(Sabotage.SHOW_ABORTED)
            if entry.value is not None and not is_hidden:
                records.append((partition, position, entry.value))
            position += 1
        if self.does(Sabotage.SKIP_A_RECORD, 0.05):
            position += 1
        if records and self.does(Sabotage.READ_TWICE, 0.05):
            position -= 1
        return records, position


class Model:
    """Producers, workers that consume, transform and produce, and readers, beside one broker."""

    def __init__(self, seed: int, sabotage: Sabotage | None = None, *, values: int = 60) -> None:
        self.random = Random(seed)
        self.broker = Broker(self.random, sabotage)
        self._ticks = count()
        self.recorder = Recorder(lambda: next(self._ticks) / 1000)
        self._names = count()
        self._values = values
        self._running: list[Steps] = []

    def run(self) -> History:
        """Play everything and return the history."""
        inputs, outputs = ["in-0", "in-1"], ["out-0", "out-1"]
        producers = [self._produce(name, inputs) for name in ("p", "q")]
        workers = [self._work(each, outputs, takeovers=0.15) for each in inputs]
        self._play([*producers, *workers], readers=True)
        for _ in range(20):  # until all is processed; with sabotage that may be never
            if not any(map(self._lag, inputs)):
                break
            self._play([self._work(each, outputs, takeovers=0) for each in inputs], readers=False)
        for name in list(self.broker.ids):
            number = self.recorder.invoke("auditor", "init", transactional_id=name)
            self.broker.init(name)
            self.recorder.complete(number)
        self._audit([*inputs, *outputs])
        return self.recorder.history()

    def _lag(self, partition: str) -> bool:
        return self.broker.committed.get(partition, 0) < len(self.broker.logs[partition])

    def _play(self, processes: Iterable[Steps], *, readers: bool) -> None:
        self._running = list(processes)
        reading = [self._read("r", True), self._read("s", False)] if readers else []
        while self._running:
            process = self.random.choice([*self._running, *reading])
            try:
                next(process)
            except StopIteration:
                self._running.remove(process)

    # -- processes ---------------------------------------------------------------------------------

    def _produce(self, process: str, partitions: list[str]) -> Steps:
        for number in range(self._values):
            partition = self.random.choice(partitions)
            if self.broker.does(Sabotage.OVERTAKING, 0.1):
                yield from self._overtake(process, f"{process}{number}", partition)
            else:
                yield from self._send(process, f"{process}{number}", partition)

    def _overtake(self, process: str, value: str, partition: str) -> Steps:
        late = self.recorder.invoke(process, "send", value=value, partition=partition)
        yield from self._send(process, f"{value}+", partition)
        self.recorder.complete(late, offset=self.broker.append(partition, value))

    def _send(self, process: str, value: str, partition: str) -> Steps:
        number = self.recorder.invoke(process, "send", value=value, partition=partition)
        yield
        offset = self.broker.append(partition, value)
        while self.random.random() < 0.3:  # the response is lost
            yield
            offset = self.broker.append(partition, value)
        yield
        self.recorder.complete(number, offset=offset)

    def _read(self, process: str, committed: bool) -> Steps:
        positions: dict[str, int] = defaultdict(int)
        isolation = "read_committed" if committed else "read_uncommitted"
        while True:
            partition = self.random.choice(["in-0", "in-1", "out-0", "out-1"])
            number = self.recorder.invoke(process, "poll", isolation=isolation)
            yield
            records, positions[partition] = self.broker.fetch(
                partition, positions[partition], 5, committed=committed
            )
            at = {partition: positions[partition]}
            self.recorder.complete(number, records=records, positions=at)
            yield

    def _audit(self, partitions: list[str]) -> None:
        for partition in partitions:
            for process, isolation in (("x", "read_committed"), ("y", "read_uncommitted")):
                number = self.recorder.invoke(process, "poll", isolation=isolation)
                records, position = self.broker.fetch(
                    partition, 0, 10**9, committed=isolation == "read_committed"
                )
                self.recorder.complete(number, records=records, positions={partition: position})
        ends = {partition: len(self.broker.logs[partition]) for partition in partitions}
        self.recorder.complete(self.recorder.invoke("auditor", "end_offsets"), offsets=ends)

    def _work(self, partition: str, outputs: list[str], takeovers: float, name: str = "") -> Steps:
        """Transform one partition until it is done, or this instance is over."""
        worker = Worker(self, f"w{next(self._names)}", partition, name or f"id{next(self._names)}")
        try:
            yield from worker.start()
            idle = 0
            while idle < 20:
                had_records = yield from worker.transform(outputs, takeovers)
                idle = 0 if had_records else idle + 1
                yield
        except FencedError:
            pass
        except CrashError:
            self.recorder.invoke(worker.process, "crash")
        self._running.append(self._time_out(worker))

    def take_over(self, worker: Worker, outputs: list[str], takeovers: float) -> None:
        """Start another instance, with the same transactional id or one of its own."""
        same = worker.id if self.random.random() < 0.5 else ""
        self._running.append(self._work(worker.partition, outputs, takeovers, same))

    def _time_out(self, worker: Worker) -> Steps:
        """Let the coordinator abort what an instance left open."""
        for _ in range(10):
            yield
        if self.broker.ids[worker.id].epoch == worker.epoch:
            number = self.recorder.invoke("coordinator", "init", transactional_id=worker.id)
            self.broker.init(worker.id)
            self.recorder.complete(number)


class Worker:
    """One instance of a transactional application that owns one partition of the input."""

    def __init__(self, model: Model, process: str, partition: str, transactional_id: str) -> None:
        self.process = process
        self.partition = partition
        self.id = transactional_id
        self.epoch = 0
        self._model = model
        self._broker = model.broker
        self._recorder = model.recorder
        self._random = model.random
        self._numbers = count()

    def start(self) -> Steps:
        number = self._recorder.invoke(self.process, "init", transactional_id=self.id)
        yield
        self.epoch = self._broker.init(self.id)
        self._recorder.complete(number)
        yield from self._take_over()

    def _take_over(self) -> Steps:
        """Take the partition over, once no open transaction has offsets for it; or give up."""
        for _ in range(200):
            number = self._recorder.invoke(self.process, "read_offsets", group="g")
            taken = self._broker.take_over(self.partition)
            if taken is None:
                self._recorder.complete(number, "failed")
                yield
                continue
            self._generation, self._position = taken
            offsets = {self.partition: self._position} if self._position else {}
            self._recorder.complete(number, offsets=offsets)
            self._committed = self._position
            self._assign()
            return
        raise CrashError

    def _assign(self) -> None:
        number = self._recorder.invoke(self.process, "assign", partitions=[self.partition])
        self._recorder.complete(number)

    def transform(self, outputs: list[str], failures: float) -> Generator[None, None, bool]:
        """Process a few records in a transaction; return whether there were any."""
        name = f"{self.process}-{next(self._numbers)}"
        poll = self._recorder.invoke(self.process, "poll", group="g", transaction=name)
        begin = self._recorder.invoke(
            self.process, "begin", transaction=name, transactional_id=self.id
        )
        self._recorder.complete(begin)
        records, self._position = self._broker.fetch(
            self.partition, self._position, 3, committed=True
        )
        at = {self.partition: self._position}
        self._recorder.complete(poll, records=records, positions=at)
        yield
        if self._position == self._committed:
            yield from self._end(name, commit=False)
            return False
        for partition, offset, _ in records:
            source = f"{partition}@{offset}"
            yield from self._send(name, source, self._random.choice(outputs))
        yield from self._commit_offsets(name)
        yield
        if self._random.random() < failures:
            self._model.take_over(self, outputs, failures)
            if self._random.random() < 0.5:
                raise CrashError
        if self._random.random() < failures:
            yield from self._abort(name)
        elif self._random.random() < failures:
            yield from self._commit_late(name)
        else:
            yield from self._end(name, commit=True)
            self._committed = self._position
        return True

    def _send(self, transaction: str, source: str, partition: str) -> Steps:
        value = f"{source}/{transaction}"
        number = self._recorder.invoke(
            self.process,
            "send",
            value=value,
            partition=partition,
            transaction=transaction,
            source=source,
        )
        yield
        offset = self._attempt(
            number, lambda: self._broker.append(partition, value, self.id, self.epoch)
        )
        self._recorder.complete(number, offset=offset)

    def _commit_offsets(self, transaction: str) -> Steps:
        position = self._position + self._broker.does(Sabotage.COMMIT_AHEAD, 0.3)
        number = self._recorder.invoke(
            self.process,
            "commit_offsets",
            group="g",
            transaction=transaction,
            offsets={self.partition: position},
        )
        yield
        self._attempt(
            number,
            lambda: self._broker.add_offsets(
                self.id, self.epoch, self._generation, self.partition, position
            ),
        )
        self._recorder.complete(number)

    def _end(self, transaction: str, *, commit: bool) -> Steps:
        kind = "commit" if commit else "abort"
        number = self._recorder.invoke(self.process, kind, transaction=transaction)
        yield
        ended = self.epoch
        self.epoch = self._attempt(number, lambda: self._broker.end(self.id, ended, commit=commit))
        if self._random.random() < 0.2:  # the response is lost
            yield
            self.epoch = self._attempt(
                number, lambda: self._broker.end(self.id, ended, commit=commit), "unknown"
            )
        yield
        self._recorder.complete(number)

    def _abort(self, transaction: str) -> Steps:
        yield from self._end(transaction, commit=False)
        if not self._broker.does(Sabotage.FORGET_TO_GO_BACK):
            self._position = self._committed
            self._assign()

    def _commit_late(self, transaction: str) -> Steps:
        """Ask for a commit that is delayed, give up, abort, and go on."""
        number = self._recorder.invoke(self.process, "commit", transaction=transaction)
        yield
        self._recorder.complete(number, "unknown")
        self._model._running.append(self._deliver_late(self.epoch))
        yield from self._abort(transaction)

    def _deliver_late(self, epoch: int) -> Steps:
        for _ in range(self._random.randrange(4)):
            yield
        try:
            self._broker.end(self.id, epoch, commit=True)
        except FencedError:
            return

    def _attempt(self, number: int, action: Callable[[], T], refused: str = "failed") -> T:
        try:
            return action()
        except FencedError:
            self._recorder.complete(number, refused)
            raise
