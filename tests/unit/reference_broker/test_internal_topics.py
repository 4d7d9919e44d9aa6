"""Internal topics of streams groups: created once, and failures that are remembered for a while."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import CreatableTopic
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.internal_topics import MAX_FAILURES, InternalTopics
from pyk.reference_broker.topic_creation import CreationResult

OK: CreationResult = (ErrorCode.NONE, None)


class Controller:
    """Notes what it is asked to create, and answers when told to."""

    def __init__(self) -> None:
        self.time_ms = 0
        self.asked: list[str] = []
        self._results: dict[str, Deferred[CreationResult]] = {}
        self.topics = InternalTopics(lambda: self.time_ms)

    def create(self, *names: str) -> None:
        self.topics.create(
            [CreatableTopic(name=name) for name in names], self._ask, remember_ms=1000
        )

    def _ask(self, topic: CreatableTopic) -> Deferred[CreationResult]:
        self.asked.append(topic.name)
        result: Deferred[CreationResult] = Deferred()
        self._results[topic.name] = result
        return result

    def answer(self, name: str, result: CreationResult = OK) -> None:
        self._results.pop(name).complete(result)


def test_a_topic_is_asked_for_once_at_a_time() -> None:
    controller = Controller()

    controller.create("a", "b")
    controller.create("a")
    assert controller.asked == ["a", "b"]

    controller.answer("a")
    controller.create("a")
    assert controller.asked == ["a", "b", "a"]


def test_a_topic_that_could_not_be_created_is_tried_again_later() -> None:
    controller = Controller()
    controller.create("a")
    controller.answer("a", (ErrorCode.INVALID_CONFIG, "no such value"))
    assert controller.topics.failures(["a", "b"]) == {"a": "no such value"}

    controller.time_ms = 999
    controller.create("a")
    assert controller.asked == ["a"]

    controller.time_ms = 1000
    assert controller.topics.failures(["a"]) == {}
    controller.create("a")
    assert controller.asked == ["a", "a"]
    controller.answer("a")
    assert controller.topics.failures(["a"]) == {}


def test_a_failure_without_a_message_is_told_by_its_name() -> None:
    controller = Controller()
    controller.create("a")

    controller.answer("a", (ErrorCode.POLICY_VIOLATION, None))

    assert controller.topics.failures(["a"]) == {"a": "POLICY_VIOLATION"}


def test_the_oldest_of_too_many_failures_is_forgotten() -> None:
    controller = Controller()
    names = [f"topic-{number}" for number in range(MAX_FAILURES + 1)]
    for name in names:
        controller.create(name)
        controller.answer(name, (ErrorCode.INVALID_CONFIG, "no"))

    assert len(controller.topics.failures(names)) == MAX_FAILURES
    assert controller.topics.failures(names[:1]) == {}
