"""Find APIs and errors by the names that a test gives. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

_CODES = range(-(1 << 15), 1 << 15)
_APIS = {key.name.replace("_", ""): key for key in ApiKey}


def api_key_of(name: str) -> ApiKey:
    name = str(name)
    key = _APIS.get(name.replace("_", "").upper())
    if key is None:
        advice = nearest(name, [each.api_name for each in ApiKey])
        raise ValueError(
            f"no API {name!r}{advice}; Kafka's names are like 'Produce' and 'JoinGroup'"
        )
    return key


def error_code_of(code: object) -> ErrorCode:
    """Return an error by its name or number; raise ``TypeError`` or ``ValueError`` otherwise."""
    if isinstance(code, bool) or not isinstance(code, str | int):
        raise TypeError(f"error must be one of Kafka's names, or its number, not {code!r}")
    if isinstance(code, str) and code not in ErrorCode.__members__:
        advice = nearest(code.upper(), ErrorCode.__members__)
        raise ValueError(
            f"no error {code!r}{advice}; Kafka's names are like 'NOT_LEADER_OR_FOLLOWER'"
        )
    if isinstance(code, int) and code not in _CODES:
        raise ValueError(f"error must be a number of 16 bits, not {code}")
    found = ErrorCode[code] if isinstance(code, str) else ErrorCode(code)
    if found is ErrorCode.NONE:
        raise ValueError("NONE is not an error: leave out error()")
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean …?)"`` if a name is like one that is known, otherwise nothing."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
