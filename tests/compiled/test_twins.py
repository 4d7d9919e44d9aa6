"""The plain and the compiled form of a module have the same interface and do the same.

``test_record_batches`` and ``test_message_decoding`` hold those together that read record batches
and messages.
"""

from __future__ import annotations

import inspect
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from pyk.clients.engine.handover import Handover
from pyk.protocol.records import BinaryColumn
from support.twins import PLAIN_FORMS, form_in_use, is_compiled, plain_form

FORMS = ("plain", "compiled")
PATIENCE = 30.0  # for another thread, on a busy machine


def form_of(name: str, kind: str) -> ModuleType:
    """Load one form of a module; skip the test where it is not compiled."""
    if kind == "plain":
        return plain_form(name)
    module = form_in_use(name)
    if not is_compiled(module):
        pytest.skip("nothing is compiled: run `make native`")
    return module


# -- interfaces ------------------------------------------------------------------------------------


def interface_of(module: ModuleType) -> dict[str, Any]:
    """Return the public functions and methods of a module, each with its parameters."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not (is_own or name in getattr(module, "__all__", ())):
            continue
        if inspect.isclass(value):
            found[name] = "class"
            for method in vars(value):
                if not method.startswith("_") and callable(getattr(value, method)):
                    found[f"{name}.{method}"] = parameters_of(getattr(value, method))
        elif callable(value):
            found[name] = parameters_of(value)
    return found


def inherited_by(module: ModuleType) -> set[str]:
    """Return the methods that classes of a module have from others."""
    return {
        f"{name}.{method}"
        for name, value in vars(module).items()
        if inspect.isclass(value)
        for method in set(dir(value)) - set(vars(value))
    }


def parameters_of(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    return [(one.name, one.default) for one in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", sorted(PLAIN_FORMS))
def test_both_forms_have_the_same_public_names_and_parameters(name: str) -> None:
    compiled = interface_of(form_of(name, "compiled"))
    plain = plain_form(name)

    # What the plain form inherits from a class of C has no parameters to compare.
    inherited = inherited_by(plain)
    own = {what: has for what, has in compiled.items() if what not in inherited}
    assert own == interface_of(plain)


# -- locks -----------------------------------------------------------------------------------------


@pytest.fixture(params=FORMS)
def mutex(request: pytest.FixtureRequest) -> Any:
    return form_of("pyk.clients.producer.batching.mutex", request.param).Mutex()


def in_another_thread(function: Callable[[], Any]) -> Any:
    """Return the result of a function in another thread, or its error."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        except RuntimeError as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    return results[0]


def test_a_mutex_raises_in_the_thread_that_holds_it(mutex: Any) -> None:
    mutex.check()

    mutex.acquire()

    with pytest.raises(RuntimeError, match="in the middle of its own send"):
        mutex.check()
    in_another_thread(mutex.check)
    mutex.release()
    mutex.check()


def test_a_mutex_that_was_taken_twice_is_free_after_two_releases(mutex: Any) -> None:
    mutex.acquire()
    mutex.acquire()
    mutex.release()
    with pytest.raises(RuntimeError, match="its own send"):
        mutex.check()

    mutex.release()

    mutex.check()


def test_a_mutex_keeps_other_threads_out(mutex: Any) -> None:
    order = []
    mutex.acquire()

    def enter() -> None:
        started.set()
        mutex.acquire()
        order.append("other")
        mutex.release()

    started = threading.Event()
    thread = threading.Thread(target=enter)
    thread.start()
    assert started.wait(PATIENCE)
    order.append("first")
    mutex.release()
    thread.join(PATIENCE)

    assert order == ["first", "other"]


def test_only_the_holder_releases_a_mutex(mutex: Any) -> None:
    with pytest.raises(RuntimeError, match="un-acquired"):
        mutex.release()

    mutex.acquire()

    assert isinstance(in_another_thread(mutex.release), RuntimeError)
    with pytest.raises(RuntimeError, match="its own send"):
        mutex.check()


@pytest.fixture(params=FORMS)
def turn_lock(request: pytest.FixtureRequest) -> Any:
    return form_of("pyk.clients.engine.turn_lock", request.param).TurnLock()


def test_a_turn_lock_knows_its_thread(turn_lock: Any) -> None:
    assert not turn_lock.is_mine()

    assert turn_lock.acquire(False)

    assert turn_lock.is_mine()
    assert not in_another_thread(turn_lock.is_mine)
    assert not in_another_thread(lambda: turn_lock.acquire(False))
    turn_lock.release()
    assert not turn_lock.is_mine()
    with pytest.raises(RuntimeError, match="release unlocked lock"):
        turn_lock.release()


# -- waiting ---------------------------------------------------------------------------------------


@pytest.fixture(params=FORMS)
def nap_bell(request: pytest.FixtureRequest) -> Any:
    return form_of("pyk.clients.engine.nap_bell", request.param).NapBell()


def test_a_ring_ends_the_next_nap_once(nap_bell: Any) -> None:
    handover = Handover(grace=0.001)
    nap_bell.ring()
    nap_bell.ring()

    nap_bell.nap(None, handover)
    nap_bell.nap(0.001, handover)  # without a ring it ends by itself


def test_a_ring_of_another_thread_ends_a_nap(nap_bell: Any) -> None:
    thread = threading.Thread(target=nap_bell.ring)
    thread.start()

    nap_bell.nap(None, Handover(grace=0.001))

    thread.join(PATIENCE)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("selector", [selectors.DefaultSelector, selectors.SelectSelector])
def test_a_poller_reports_the_events_of_each_descriptor(
    kind: str, selector: type[Any], pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = pair
    with selector() as watched:
        key = watched.register(ours, selectors.EVENT_READ | selectors.EVENT_WRITE, "data")
        poller = form_of("pyk.clients.engine.poller", kind).Poller(watched)

        assert poller.wait(0.0) == 1
        assert (poller.key(0), poller.mask(0)) == (key, selectors.EVENT_WRITE)
        theirs.send(b"x")
        assert poller.wait(PATIENCE) == 1
        assert poller.mask(0) == selectors.EVENT_READ | selectors.EVENT_WRITE
        watched.modify(ours, selectors.EVENT_READ)
        ours.recv(1)
        assert poller.wait(0.0) == 0


# -- the runtime -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMS)
def test_a_system_clock_returns_the_time_of_the_operating_system(kind: str) -> None:
    clock = form_of("pyk.runtime.system_clock", kind).SystemClock()

    before = time.monotonic(), time.time_ns() // 1_000_000
    now, now_ms = clock.now(), clock.time_ms()
    after = time.monotonic(), time.time_ns() // 1_000_000

    assert before[0] <= now <= after[0]
    assert before[1] <= now_ms <= after[1]


@pytest.fixture(params=FORMS)
def stream_sockets(request: pytest.FixtureRequest) -> ModuleType:
    return form_of("pyk.runtime.network.stream_socket", request.param)


def test_a_stream_socket_sends_parts_and_receives(
    stream_sockets: ModuleType, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = pair
    stream = stream_sockets.StreamSocket(ours)
    buffer = bytearray(16)

    assert stream.receive_into(memoryview(buffer)) == -1
    assert stream.send_parts([b"ab", bytearray(b"cd"), memoryview(b"ef")]) == 0
    assert theirs.recv(16) == b"abcdef"
    theirs.send(b"answer")
    assert stream.receive_into(memoryview(buffer)) == 6
    assert buffer[:6] == b"answer"
    theirs.close()
    assert stream.receive_into(memoryview(buffer)) == 0
    with pytest.raises(BrokenPipeError):
        stream.send_parts([b"x"])
    stream.close()
    assert stream.fileno() == -1


def test_a_stream_socket_returns_the_bytes_that_the_kernel_does_not_take(
    stream_sockets: ModuleType, pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = pair
    stream = stream_sockets.StreamSocket(ours)
    parts = [bytes(1 << 20)] * 8

    left = stream.send_parts(parts)

    assert 0 < left < 8 << 20
    assert stream.send_parts([b"x"]) == 1
    stream.close()
    received = 0
    while data := theirs.recv(1 << 20):
        received += len(data)
    assert received == (8 << 20) - left


@pytest.fixture(params=FORMS)
def frame_buffer(request: pytest.FixtureRequest) -> ModuleType:
    return form_of("pyk.runtime.network.frame_buffer", request.param)


def test_a_frame_buffer_grows_and_keeps_its_content(frame_buffer: ModuleType) -> None:
    buffer = frame_buffer.new_buffer(4)
    buffer[:] = b"abcd"

    frame_buffer.grow(buffer, 200_000)

    assert len(buffer) == 200_000
    assert buffer[:4] == b"abcd"


@pytest.mark.parametrize("size", [0, 1, (1 << 31) - 1, -1, -(1 << 31)])
def test_a_frame_size_is_an_int32(frame_buffer: ModuleType, size: int) -> None:
    scratch = memoryview(b"--" + size.to_bytes(4, "big", signed=True))

    assert frame_buffer.frame_size(scratch, 2) == size
    assert frame_buffer.cut(scratch, 2, 6) == bytes(scratch[2:])


# -- numbers ---------------------------------------------------------------------------------------


@pytest.fixture(params=FORMS)
def numbers(request: pytest.FixtureRequest) -> ModuleType:
    return form_of("pyk.protocol.wire_numbers", request.param)


@pytest.mark.parametrize("value", [0, 1, -1, 127, 1 << 30, (1 << 31) - 1, -(1 << 31)])
def test_an_int32_is_read_as_it_was_written(numbers: ModuleType, value: int) -> None:
    out = bytearray(b"--")

    numbers.append_int32(out, value)

    assert out == b"--" + value.to_bytes(4, "big", signed=True)
    assert numbers.get_int32(out, 2) == value
    numbers.put_int32(out, 1, value)
    assert out[1:5] == value.to_bytes(4, "big", signed=True)


@pytest.mark.parametrize("value", [0, -1, (1 << 63) - 1, -(1 << 63)])
def test_an_int64_is_read_as_it_was_written(numbers: ModuleType, value: int) -> None:
    out = bytearray(10)

    numbers.put_int64(out, 2, value)

    assert out == b"\0\0" + value.to_bytes(8, "big", signed=True)
    assert numbers.get_int64(out, 2) == value


@pytest.mark.parametrize("position", [-1, 5, 9, 1 << 40])
@pytest.mark.parametrize(("function", "arguments"), [("get_int32", ()), ("put_int32", (1,))])
def test_a_number_that_is_not_all_there_is_refused(
    numbers: ModuleType, function: str, arguments: tuple[int, ...], position: int
) -> None:
    with pytest.raises(IndexError, match=f"no int32 at byte {position} of 8"):
        getattr(numbers, function)(bytearray(8), position, *arguments)


@pytest.mark.parametrize("position", [-1, 1, 1 << 40])
@pytest.mark.parametrize(("function", "arguments"), [("get_int64", ()), ("put_int64", (1,))])
def test_a_long_number_that_is_not_all_there_is_refused(
    numbers: ModuleType, function: str, arguments: tuple[int, ...], position: int
) -> None:
    with pytest.raises(IndexError, match=f"no int64 at byte {position} of 8"):
        getattr(numbers, function)(bytearray(8), position, *arguments)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), ((1 << 32) - 1, "ffffffff0f")],
)
def test_an_unsigned_varint_is_written(numbers: ModuleType, value: int, encoded: str) -> None:
    out = bytearray(b"-")

    numbers.append_varint(out, value)

    assert out == b"-" + bytes.fromhex(encoded)


def test_bytes_are_found_copied_and_appended(numbers: ModuleType) -> None:
    data = bytearray(b"abc")

    assert numbers.has_bytes(data, 1, b"bc")
    assert not numbers.has_bytes(data, 2, b"bc")
    assert not numbers.has_bytes(data, 9, b"bc")
    numbers.append_bytes(data, b"de")
    numbers.append_bytes(data, bytearray(b"f"))
    with pytest.raises(BufferError):
        numbers.append_bytes(data, data)
    assert data == b"abcdef"
    copy = numbers.bytearray_of(b"abc")
    copy += b"d"
    assert copy == b"abcd"


# -- partitions of keys ----------------------------------------------------------------------------


@pytest.fixture(params=FORMS)
def murmur2(request: pytest.FixtureRequest) -> ModuleType:
    return form_of("pyk.protocol.records.murmur2", request.param)


@pytest.mark.parametrize(
    ("key", "value"),  # of Kafka's UtilsTest
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_key_has_kafkas_hash(murmur2: ModuleType, key: bytes, value: int) -> None:
    assert murmur2.murmur2(key) == murmur2.murmur2(bytearray(key)) == value
    assert murmur2.partition_for_key(memoryview(key), 7) == (value & 0x7FFFFFFF) % 7


def test_rows_are_sorted_by_the_partitions_of_their_keys(murmur2: ModuleType) -> None:
    offsets = struct.pack("5i", 0, 2, 2, 5, 7)
    keys = BinaryColumn(4, offsets, b"21abc21", validity=b"\x0d")

    partitions = murmur2.partitions_for_keys(keys, 3)
    rows = murmur2.rows_by_partition(partitions, 3)

    numbers = list(memoryview(partitions).cast("i"))
    assert numbers[1] == murmur2.NO_PARTITION
    assert numbers[0] == numbers[3] == murmur2.partition_for_key(b"21", 3)
    assert list(memoryview(rows[3]).cast("i")) == [1]
    assert [row for row in memoryview(rows[numbers[0]]).cast("i") if row != 2] == [0, 3]


@pytest.mark.parametrize("count", [0, -1, 1 << 31])
def test_a_count_that_no_topic_has_is_refused(murmur2: ModuleType, count: int) -> None:
    with pytest.raises(ValueError, match=f"partition_count={count}"):
        murmur2.partition_for_key(b"key", count)
