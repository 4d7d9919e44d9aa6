"""Classes with slots, as attrs declares them, whose methods are made when they are first used."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import attrs
import pytest

from pyk.runtime import slotted


@slotted.frozen
class Place:
    line: int
    column: int = 0


@slotted.define(kw_only=True)
class Page:
    marks: list[Place] = slotted.field(factory=list)
    title: str = "untitled"


@slotted.define(kw_only=True)
class NumberedPage(Page):
    number: int


@slotted.define(eq=False)
class Reader:
    name: str

    @property
    def greeting(self) -> str:
        return self.name


@slotted.define(eq=False)
class FormalReader(Reader):
    @property
    def greeting(self) -> str:
        return f"Dear {super().greeting}"

    @classmethod
    def named(cls, name: str) -> FormalReader:
        reader = super().__new__(cls)
        reader.name = name
        return reader

    def own_class(self) -> type[FormalReader]:
        return __class__  # type: ignore[name-defined,no-any-return]


@slotted.define(kw_only=True)
class TitledPage(Page):
    title: str = "notes"


def test_arguments_go_by_position_or_name() -> None:
    assert (Place(3).line, Place(3).column) == (3, 0)
    assert Place(column=2, line=1) == Place(1, 2)


def test_patterns_take_the_fields_that_arguments_may_take_by_position() -> None:
    match Place(1, 2):
        case Place(line, column):
            assert (line, column) == (1, 2)

    assert Page.__match_args__ == ()


def test_wrong_arguments_are_named_with_the_class() -> None:
    with pytest.raises(TypeError, match=r"Place.__init__\(\) missing 1 required .* 'line'"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Page.__init__\(\) takes 1 positional argument"):
        Page([])  # type: ignore[misc]


def test_each_object_has_a_list_of_its_own() -> None:
    first, second = Page(), Page()
    first.marks.append(Place(1))
    assert second.marks == []
    assert Page(marks=[Place(1)]) == first


def test_a_derived_class_takes_the_fields_of_its_base() -> None:
    page = NumberedPage(marks=[Place(1)], title="index", number=7)
    assert page.marks == [Place(1)]
    assert repr(page) == "NumberedPage(marks=[Place(line=1, column=0)], title='index', number=7)"


def test_objects_of_different_classes_differ() -> None:
    assert Page() != NumberedPage(number=1)
    assert Place(0) != (0, 0)


def test_frozen_objects_have_a_hash_and_cannot_be_changed() -> None:
    place = Place(1)
    assert {place: "here"}[Place(1)] == "here"
    with pytest.raises(AttributeError, match=r"Place.line cannot be changed"):
        place.line = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"Place.line cannot be changed"):
        del place.line


def test_changeable_objects_have_no_hash_unless_compared_by_identity() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Page())
    one, other = Reader("Ada"), Reader("Ada")
    assert len({one, other}) == 2


def test_objects_have_slots_only() -> None:
    with pytest.raises(AttributeError, match="pages"):
        Page().pages = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [Place(1, 2), Page(title="end"), NumberedPage(number=1)])
def test_objects_can_be_copied_and_pickled(value: Place | Page) -> None:
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_evolve_changes_a_copy() -> None:
    place = Place(1, 2)
    assert slotted.evolve(place, line=3) == Place(3, 2)
    assert place == Place(1, 2)


def test_tools_for_attrs_classes_take_them() -> None:
    assert [each.name for each in attrs.fields(Place)] == ["line", "column"]  # type: ignore[misc]
    assert attrs.asdict(Page(marks=[Place(1)])) == {  # type: ignore[arg-type]
        "marks": [{"line": 1, "column": 0}],
        "title": "untitled",
    }
    assert attrs.evolve(Place(1), column=5) == Place(1, 5)  # type: ignore[misc]


def test_methods_can_call_those_of_the_base() -> None:
    assert FormalReader("Ada").greeting == "Dear Ada"
    assert FormalReader.named("Ada").greeting == "Dear Ada"
    assert FormalReader("Ada").own_class() is FormalReader


def test_a_derived_class_may_give_a_field_another_default() -> None:
    assert TitledPage().title == "notes"
    assert TitledPage(title="index").title == "index"
    assert repr(TitledPage()) == "TitledPage(marks=[], title='notes')"


@slotted.frozen(order=True)
class Login:
    user: str
    password: str = slotted.field(repr=False)
    mechanism: str = slotted.field(default="PLAIN", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not self.user:
            raise ValueError("user must not be empty")


@slotted.frozen
class Copy:
    text: str
    made_at: float = slotted.field(eq=False)


def test_a_field_may_not_count_for_equality() -> None:
    assert Copy("a", 1.0) == Copy("a", 2.0) != Copy("b", 1.0)
    assert hash(Copy("a", 1.0)) == hash(Copy("a", 2.0))


@slotted.frozen
class Nothing:
    pass


def test_a_secret_field_is_not_shown() -> None:
    assert repr(Login("ann", "secret")) == "Login(user='ann', mechanism='PLAIN')"


def test_fields_after_one_that_must_be_named_must_be_named() -> None:
    assert Login("ann", "x", mechanism="SCRAM").mechanism == "SCRAM"
    assert Login.__match_args__ == ("user", "password")
    with pytest.raises(TypeError):
        Login("ann", "x", "SCRAM")  # type: ignore[misc]


def test_values_can_be_checked_when_an_object_is_made() -> None:
    with pytest.raises(ValueError, match="user must not be empty"):
        Login("", "x")


def test_objects_can_be_sorted_by_their_fields() -> None:
    ann, ben = Login("ann", "z"), Login("ben", "a")

    assert sorted([ben, ann]) == [ann, ben]
    assert ann <= ann < ben
    assert ben >= ben > ann
    with pytest.raises(TypeError):
        _ = ann < Place(1)  # type: ignore[operator]


def test_objects_without_fields_are_equal() -> None:
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())


def test_the_signature_is_that_of_the_fields_before_and_after_the_first_object() -> None:
    @slotted.frozen
    class Fresh:
        number: int
        name: str = "none"

    class Derived(Fresh):
        def __init__(self, text: str) -> None:
            super().__init__(len(text))

    before = inspect.signature(Fresh)
    Fresh(1)

    assert str(before) == "(number, name='none')"
    assert inspect.signature(Fresh) == before
    assert str(inspect.signature(Derived)) == "(text: 'str') -> 'None'"


def test_required_fields_come_first() -> None:
    with pytest.raises(TypeError, match=r"Span.end has no default, but one before it has"):

        @slotted.frozen
        class Span:
            start: int = 0
            end: int


def test_init_is_compiled_after_the_first_objects_of_a_class() -> None:
    @slotted.frozen
    class Fresh:
        number: int = 0

    before = Fresh.__init__
    first = [Fresh(number) for number in range(slotted.OBJECTS_BEFORE_COMPILING)]
    while_few = Fresh.__init__
    Fresh(1)
    after = Fresh.__init__
    Fresh(2)

    assert [each.number for each in first] == list(range(slotted.OBJECTS_BEFORE_COMPILING))
    assert while_few is before
    assert after is not before
    assert Fresh.__init__ is after


def entry_class() -> Any:
    """Return a class that has had no objects yet."""

    @slotted.frozen
    class Entry:
        user: str
        host: str = slotted.field(default="*", kw_only=True)
        operation: str = "read"
        marks: list[str] = slotted.field(factory=list)

    return Entry


def compiled_entry_class() -> Any:
    """Return the same class after so many objects that its ``__init__`` is compiled."""
    entry = entry_class()
    for _ in range(slotted.OBJECTS_BEFORE_COMPILING + 1):
        entry("ann")
    return entry


@pytest.mark.parametrize("new_class", [entry_class, compiled_entry_class])
@pytest.mark.parametrize(
    ("args", "named", "values"),
    [
        (["ann"], {}, ("ann", "*", "read", [])),
        ([], {"user": "ann", "marks": ["a"]}, ("ann", "*", "read", ["a"])),
        (["ann"], {"operation": "write", "host": "h"}, ("ann", "h", "write", [])),
    ],
)
def test_first_and_later_objects_take_the_same_arguments(
    new_class: Any, args: Any, named: Any, values: Any
) -> None:
    entry = new_class()

    assert entry.__slotted_values__(entry(*args, **named)) == values


@pytest.mark.parametrize("new_class", [entry_class, compiled_entry_class])
@pytest.mark.parametrize(
    ("args", "named", "problem"),
    [
        ([], {}, "missing 1 required positional argument: 'user'"),
        (["ann", "h"], {}, "takes 2 positional arguments but 3 were given"),
        (["ann"], {"user": "ben"}, "got multiple values for argument 'user'"),
        (["ann"], {"group": "g"}, "unexpected keyword argument 'group'"),
    ],
)
def test_first_and_later_objects_refuse_the_same_arguments(
    new_class: Any, args: Any, named: Any, problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        new_class()(*args, **named)


def test_a_broker_starts_without_attrs() -> None:
    code = "import pyk.reference_broker.cluster, sys; print('attr' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
