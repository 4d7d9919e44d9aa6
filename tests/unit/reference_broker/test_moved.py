"""When requests are checked that wait for partitions."""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.moved import MovedPartitions

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


class Broker:
    """Takes the partitions to check, and runs the next turn when told to."""

    def __init__(self) -> None:
        self.checked: list[list[TopicPartition]] = []
        self.next_turn: list[Callable[[], None]] = []
        self.moved = MovedPartitions(self.check, self.next_turn.append)

    def check(self, names: list[TopicPartition]) -> None:
        self.checked.append(names)

    def turn(self) -> None:
        due, self.next_turn[:] = list(self.next_turn), []
        for each in due:
            each()


def test_all_that_requests_move_is_checked_once_they_are_handled() -> None:
    broker = Broker()

    broker.moved.hold()
    broker.moved.add(ONE)
    broker.moved.add(OTHER)
    broker.moved.add(ONE)
    assert not broker.checked
    broker.moved.release()

    assert broker.checked == [[ONE, OTHER]]
    assert not broker.next_turn


def test_nothing_is_checked_when_requests_move_nothing() -> None:
    broker = Broker()

    broker.moved.hold()
    broker.moved.release()

    assert not broker.checked


def test_a_partition_moved_outside_of_a_request_is_checked_in_the_next_turn() -> None:
    broker = Broker()

    broker.moved.add(ONE)
    broker.moved.add(OTHER)
    assert not broker.checked
    broker.turn()

    assert broker.checked == [[ONE, OTHER]]
    assert not broker.next_turn


def test_a_partition_moved_by_a_check_is_checked_in_the_next_turn() -> None:
    broker = Broker()

    def check(names: list[TopicPartition]) -> None:
        broker.check(names)
        if names == [ONE]:
            moved.add(OTHER)

    moved = MovedPartitions(check, broker.next_turn.append)
    moved.hold()
    moved.add(ONE)
    moved.release()
    assert broker.checked == [[ONE]]
    broker.turn()

    assert broker.checked == [[ONE], [OTHER]]
