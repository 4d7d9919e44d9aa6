from __future__ import annotations

import pytest

from pyk.clients import AcknowledgeType
from pyk.clients.share.acknowledge_type import checked_type
from pyk.clients.share.acknowledgements import GAP, UNDECIDED, Acknowledgements, Run

ACCEPT, RELEASE, REJECT, RENEW = map(int, AcknowledgeType)


@pytest.mark.parametrize(
    ("added", "runs"),
    [
        ([(0, 4, 1), (5, 9, 1)], [(0, 9, 1)]),
        ([(0, 4, 1), (5, 9, 2)], [(0, 4, 1), (5, 9, 2)]),
        ([(0, 4, 1), (6, 9, 1)], [(0, 4, 1), (6, 9, 1)]),
        ([(6, 9, 1), (0, 4, 1)], [(0, 4, 1), (6, 9, 1)]),
        ([(6, 9, 1), (0, 4, 1), (5, 5, 1)], [(0, 9, 1)]),
        ([(0, 9, -1), (3, 3, 1)], [(0, 2, -1), (3, 3, 1), (4, 9, -1)]),
        ([(0, 9, -1), (3, 3, 1), (4, 4, 1)], [(0, 2, -1), (3, 4, 1), (5, 9, -1)]),
        ([(0, 9, -1), (0, 0, 1), (9, 9, 1)], [(0, 0, 1), (1, 8, -1), (9, 9, 1)]),
        ([(0, 9, 1), (3, 3, 1)], [(0, 9, 1)]),
        ([(0, 2, 1), (4, 6, 2), (8, 9, 3), (1, 8, 4)], [(0, 0, 1), (1, 8, 4), (9, 9, 3)]),
        ([(2, 3, 1), (0, 9, 2)], [(0, 9, 2)]),
        ([(0, 1, 1), (2, 3, 2), (4, 5, 1), (2, 3, 1)], [(0, 5, 1)]),
    ],
)
def test_ranges_are_in_order_disjoint_and_joined(added: list[Run], runs: list[Run]) -> None:
    assert list(Acknowledgements(added)) == runs


def test_the_kind_of_an_offset_is_found() -> None:
    some = Acknowledgements([(5, 6, ACCEPT), (8, 8, REJECT)])

    kinds = [some.kind_at(offset) for offset in range(4, 10)]

    assert kinds == [None, ACCEPT, ACCEPT, None, REJECT, None]


@pytest.mark.parametrize(
    ("decided", "runs"),
    [
        ([0, 1, 2, 3, 4], [(0, 4, ACCEPT)]),
        ([0, 1], [(0, 1, ACCEPT), (2, 4, UNDECIDED)]),
        ([1, 0], [(0, 1, ACCEPT), (2, 4, UNDECIDED)]),
        ([4, 3], [(0, 2, UNDECIDED), (3, 4, ACCEPT)]),
        ([2, 2], [(0, 1, UNDECIDED), (2, 2, ACCEPT), (3, 4, UNDECIDED)]),
    ],
)
def test_offsets_are_decided_one_by_one(decided: list[int], runs: list[Run]) -> None:
    some = Acknowledgements([(0, 4, UNDECIDED)])

    for offset in decided:
        some.decide(offset, ACCEPT)

    assert list(some) == runs


def test_an_offset_that_is_not_here_is_not_decided() -> None:
    some = Acknowledgements([(5, 6, UNDECIDED), (8, 8, REJECT)])

    before = [some.decide(offset, ACCEPT) for offset in (4, 5, 7, 8, 9)]

    assert before == [None, UNDECIDED, None, REJECT, None]
    assert list(some) == [(5, 5, ACCEPT), (6, 6, UNDECIDED), (8, 8, ACCEPT)]


@pytest.mark.parametrize("after", [(4, 9, UNDECIDED), (5, 9, UNDECIDED)])
def test_an_offset_between_those_that_are_here_is_not_decided(after: Run) -> None:
    some = Acknowledgements([(0, 2, ACCEPT), after])

    assert some.decide(3, ACCEPT) is None
    assert list(some) == [(0, 2, ACCEPT), after]


def test_what_is_decided_is_taken_and_the_rest_stays() -> None:
    some = Acknowledgements([(0, 9, UNDECIDED), (2, 3, ACCEPT), (7, 7, RENEW)])

    decided = some.take_decided()

    assert list(decided) == [(2, 3, ACCEPT), (7, 7, RENEW)]
    assert list(some) == [(0, 1, UNDECIDED), (4, 6, UNDECIDED), (8, 9, UNDECIDED)]
    assert (decided.has_renewals, some.has_renewals) == (True, False)
    assert decided.of_kind(RENEW) == [(7, 7, RENEW)]


def test_offsets_are_told_as_ranges_whatever_their_kinds() -> None:
    some = Acknowledgements([(0, 1, ACCEPT), (2, 2, RELEASE), (4, 4, GAP)])

    assert some.ranges() == (range(3), range(4, 5))
    assert (some.count, bool(some), bool(Acknowledgements())) == (4, True, False)
    assert repr(some) == "Acknowledgements([(0, 1, 1), (2, 2, 2), (4, 4, 0)])"


def test_only_types_acknowledge() -> None:
    assert checked_type(AcknowledgeType.REJECT) is AcknowledgeType.REJECT
    with pytest.raises(TypeError, match="kind must be an AcknowledgeType, not 1"):
        checked_type(1)
