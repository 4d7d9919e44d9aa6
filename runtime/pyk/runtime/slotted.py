"""Declare classes of values with slots, as attrs does, at next to no cost when they are imported.

attrs compiles the methods of a class when the class is declared. That was a third of the time in
which a broker starts, and most of the classes are not used by then. Here ``__init__`` is compiled
once a class has had some objects, as most in a short process never do; the other methods are shared
by all classes.

    @slotted.frozen
    class Place:
        line: int
        column: int = 0
        marks: list[str] = slotted.field(factory=list)

Tools for attrs classes (``attrs.fields``, ``attrs.evolve``, ``attrs.asdict``) take these, too.
"""

from __future__ import annotations

import linecache
import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from operator import attrgetter
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)
T = TypeVar("T")

_MISSING: Any = type("Missing", (), {"__repr__": lambda _: "<missing>"})()

OBJECTS_BEFORE_COMPILING = 16
"""Compiling an ``__init__`` takes as long as making some thirty objects without it."""


class FieldOptions:
    """The options of one field of a class."""

    __slots__ = ("counts", "default", "factory", "is_shown", "kw_only", "metadata", "name")

    def __init__(
        self,
        default: Any,
        factory: Callable[[], Any] | None,
        metadata: Any,
        *,
        is_shown: bool = True,
        kw_only: bool = False,
        counts: bool = True,
    ) -> None:
        self.name = ""
        self.default = default
        self.factory = factory
        self.metadata = metadata
        self.is_shown = is_shown
        self.kw_only = kw_only
        self.counts = counts


def field(
    *,
    default: Any = _MISSING,
    factory: Callable[[], Any] | None = None,
    metadata: Any = None,
    repr: bool = True,  # noqa: A002 - the word of attrs
    kw_only: bool = False,
    eq: bool = True,
) -> Any:
    """Return the options of a field: its default, or the function that makes it for each object.

    ``metadata`` is whatever the declaring code wants to find again, see :func:`fields`. With
    ``repr=False`` the ``repr`` of an object does not show the field, which may be secret. With
    ``kw_only`` the argument must be named, as all that follow. With ``eq=False`` objects are equal
    whatever the field is.
    """
    return FieldOptions(default, factory, metadata, is_shown=repr, kw_only=kw_only, counts=eq)


Fields: TypeAlias = tuple[FieldOptions, ...]


@dataclass_transform(field_specifiers=(field,))
def define(cls: C | None = None, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Declare a class with the annotated names as slots and arguments.

    ``kw_only``: the arguments must be named. ``eq=False``: objects are compared by identity. A
    method ``__attrs_post_init__`` is called at the end of ``__init__``, for instance to check.
    """
    if cls is None:
        return partial(_build, kw_only=kw_only, eq=eq, is_frozen=False)
    return _build(cls, kw_only=kw_only, eq=eq, is_frozen=False)


@dataclass_transform(field_specifiers=(field,), frozen_default=True)
def frozen(
    cls: C | None = None, *, kw_only: bool = False, eq: bool = True, order: bool = False
) -> Any:
    """Declare a class as :func:`define` does, whose objects cannot be changed and have a hash.

    ``order``: objects of the class are sorted by their fields.
    """
    if cls is None:
        return partial(_build, kw_only=kw_only, eq=eq, order=order, is_frozen=True)
    return _build(cls, kw_only=kw_only, eq=eq, order=order, is_frozen=True)


def fields(cls: type) -> Fields:
    """Return the fields of a class that this module declared, those of its bases first."""
    found: Fields = getattr(cls, "__slotted_fields__")  # noqa: B009 - not in type
    return found


def evolve(instance: T, **changes: Any) -> T:
    """Return a copy of ``instance`` with some fields changed."""
    for each in fields(type(instance)):
        if each.name not in changes:
            changes[each.name] = getattr(instance, each.name)
    return type(instance)(**changes)


class _AttrsFields:
    """The attribute that attrs reads the fields of a class from; created on first use."""

    def __get__(self, instance: object, owner: type) -> Any:
        import attrs

        options = {
            each.name: attrs.field(factory=each.factory)
            if each.factory is not None
            else attrs.field(default=attrs.NOTHING if each.default is _MISSING else each.default)
            for each in fields(owner)
        }
        made = attrs.fields(attrs.make_class(owner.__name__, options, kw_only=True))
        setattr(owner, "__attrs_attrs__", made)  # noqa: B010 - type checkers do not know it
        return made


class _Signature:
    """The attribute that ``inspect`` and ``help`` read the arguments of a class from."""

    def __get__(self, instance: object, owner: Any) -> Any:
        if "__slotted_fields__" not in vars(owner):
            raise AttributeError("__signature__")  # a subclass that may have other arguments
        import inspect

        options = owner.__slotted_options__
        signature = inspect.signature(_compile_init(owner, **options))
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _build(cls: Any, *, kw_only: bool, eq: bool, is_frozen: bool, order: bool = False) -> Any:
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    own = tuple(
        _declared(name, namespace.pop(name, _MISSING))
        for name, annotation in namespace.get("__annotations__", {}).items()
        if not str(annotation).startswith(("ClassVar", "typing.ClassVar"))
    )
    everything = _together(getattr(cls, "__slotted_fields__", ()), own)
    if not kw_only:
        _check_order(cls, everything)
    namespace |= {
        "__qualname__": cls.__qualname__,
        "__slots__": tuple(each.name for each in own),
        "__slotted_fields__": everything,
        "__match_args__": () if kw_only else tuple(_positional(everything)),
        "__slotted_options__": {"kw_only": kw_only, "is_frozen": is_frozen},
        "__attrs_attrs__": _AttrsFields(),
        "__signature__": _Signature(),
    }
    if eq:
        namespace["__slotted_values__"] = _values_of(
            [each.name for each in everything if each.counts]
        )
        namespace |= {"__eq__": _eq, "__hash__": _hash if is_frozen else None}
    if order:
        namespace |= {"__lt__": _lt, "__le__": _le, "__gt__": _gt, "__ge__": _ge}
    if cls.__repr__ is object.__repr__:
        namespace["__repr__"] = _repr
    if is_frozen:
        namespace |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _set_state}
    built = type(cls)(cls.__name__, cls.__bases__, namespace)
    built.__init__ = _init_to_be(built, kw_only, is_frozen)
    _move_class_cell(cls, built)
    return built


def _positional(everything: Fields) -> Iterator[str]:
    """Return the names of the arguments that need not be named."""
    return (each.name for each in takewhile(lambda each: not each.kw_only, everything))


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that returns what makes two objects equal."""
    return attrgetter(*names) if names else staticmethod(_no_value)


def _no_value(_: object) -> None:
    """Return the value of objects without fields: all are equal."""


def _together(of_bases: Fields, own: Fields) -> Fields:
    """Return all fields, of those with the same name that of the class itself."""
    names = {each.name for each in own}
    return (*(each for each in of_bases if each.name not in names), *own)


def _check_order(cls: type, everything: Fields) -> None:
    """Raise ``TypeError`` if a required field follows an optional one."""
    has_default = False
    for each in everything:
        if each.default is not _MISSING or each.factory is not None:
            has_default = True
        elif has_default and not each.kw_only:
            raise TypeError(
                f"{cls.__name__}.{each.name} has no default, but one before it has: give it one, "
                "or declare the class with kw_only=True"
            )


def _move_class_cell(cls: type, built: type) -> None:
    """Let ``super()`` and ``__class__`` in the methods stand for the class that was built."""
    for member in vars(cls).values():
        if isinstance(member, FunctionType):
            functions: list[Any] = [member]
        elif isinstance(member, property):
            functions = [member.fget, member.fset, member.fdel]
        elif isinstance(member, classmethod | staticmethod):
            functions = [member.__func__]
        else:
            continue
        for function in functions:
            for cell in getattr(function, "__closure__", None) or ():
                if cell.cell_contents is cls:
                    cell.cell_contents = built


def _declared(name: str, value: Any) -> FieldOptions:
    options = value if isinstance(value, FieldOptions) else FieldOptions(value, None, None)
    options.name = name
    return options


def _init_to_be(cls: Any, kw_only: bool, is_frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` for the first objects, which then puts the compiled one into its
    place."""
    remaining = OBJECTS_BEFORE_COMPILING

    def fill_or_compile(self: Any, *args: Any, **named: Any) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0 or not _fill(self, cls, args, named):
            cls.__init__ = _compile_init(cls, kw_only, is_frozen)
            cls.__init__(self, *args, **named)

    return fill_or_compile


def _fill(self: Any, cls: Any, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Do what the compiled ``__init__`` does; return False if it has to tell what is wrong."""
    store = object.__setattr__ if cls.__slotted_options__["is_frozen"] else setattr
    values = dict(zip(cls.__match_args__, args, strict=False))
    if len(values) < len(args) or not values.keys().isdisjoint(named):
        return False
    values |= named
    for each in fields(cls):
        if each.name in values:
            store(self, each.name, values.pop(each.name))
        elif each.factory is not None:
            store(self, each.name, each.factory())
        elif each.default is not _MISSING:
            store(self, each.name, each.default)
        else:
            return False
    if values:
        return False
    if hasattr(cls, "__attrs_post_init__"):
        self.__attrs_post_init__()
    return True


def _compile_init(cls: type, kw_only: bool, is_frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_missing": _MISSING}
    required: list[str] = []
    optional: list[str] = []
    body: list[str] = []
    for each in fields(cls):
        name = value = each.name
        if each.kw_only and "*" not in optional:
            optional.append("*")
        if each.factory is not None:
            names[f"_make_{name}"] = each.factory
            optional.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif each.default is _MISSING:
            (optional if each.kw_only else required).append(name)
        else:
            names[f"_default_{name}"] = each.default
            optional.append(f"{name}=_default_{name}")
        if is_frozen:  # a slot's own setter is not stopped by __setattr__
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"self.{name} = {value}")
    if hasattr(cls, "__attrs_post_init__"):
        body.append("self.__attrs_post_init__()")
    arguments = ["self", *(["*"] if kw_only and body else []), *required, *optional]
    lines = [f"def __init__({', '.join(arguments)}):", *(body or ["pass"])]
    return _compiled("\n    ".join(lines) + "\n", cls.__qualname__, names)


def _compiled(text: str, class_name: str, names: dict[str, Any]) -> Callable[..., None]:
    filename = f"<pyk init of {class_name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)  # nosec B102  # noqa: S102 - written from our own fields
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{class_name}.__init__"
    return init


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self.__slotted_values__(self) == other.__slotted_values__(other)


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(self.__slotted_values__(self), other.__slotted_values__(other))

    return method


_lt, _le, _gt, _ge = map(_ordering, (operator.lt, operator.le, operator.gt, operator.ge))


def _hash(self: Any) -> int:
    return hash(self.__slotted_values__(self))


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(type(self)) if f.is_shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, value: object = None) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: evolve a copy")


def _set_state(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    """Restore what pickle and copy found in the slots."""
    for name, value in state[1].items():
        getattr(type(self), name).__set__(self, value)
