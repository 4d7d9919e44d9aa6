"""Values that nobody may see. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

HIDDEN = "<secret>"


class Secret:
    """A password, key or token that is not shown by ``repr``, ``str`` or a format, nor pickled.

    Only :meth:`reveal` returns it. Keep what it returns out of variables: tools that report errors
    print the variables of all functions on the way.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        import hmac  # which loads OpenSSL; few programs compare secrets

        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled: give it to each process by itself")


class SecretFunction(Secret):
    """A secret that a function returns each time it is needed, such as one that a vault keeps."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], str]) -> None:
        super().__init__("")
        self._function = function

    def reveal(self) -> str:
        return self._function()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretFunction) and self._function is other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __bool__(self) -> bool:
        return True


def secret_of(value: str | Secret, name: str = "a secret") -> Secret:
    """Return ``value`` as a secret; raise TypeError, without the value, if it is no str.

    ``name`` is that of the argument, for the error.
    """
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {_kind(value)}")
    return Secret(value)


def password_of(value: str | Secret) -> Secret:
    """Return a password as :func:`secret_of` does."""
    return secret_of(value, "password")


def _kind(value: object) -> str:
    hint = "; is the variable of the environment set?" if value is None else ""
    return f"{type(value).__name__}{hint}"
