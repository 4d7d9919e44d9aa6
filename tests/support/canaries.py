"""Secrets that must not be shown anywhere, and how to look for them in every writing."""

from __future__ import annotations

import base64
import pickle
import traceback
import urllib.parse
from collections.abc import Iterable
from typing import Any


def writings(secret: str) -> set[str]:
    """Return how a secret may be written: plain, percent-encoded, in hex and in base64."""
    data = secret.encode()
    # In the middle of other bytes, base64 begins at any of three places.
    shifted = [base64.b64encode(b"\0" * shift + data).decode()[4:-4] for shift in range(3)]
    in_urls = [one.replace("+", "-").replace("/", "_") for one in shifted]
    quoted = (urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret))
    return {secret, *quoted, data.hex(), repr(data)[2:-1], *shifted, *in_urls}


def check(text: str, *secrets: str) -> None:
    """Fail if a text shows a secret in any writing."""
    for writing in [one for secret in secrets for one in writings(secret)]:
        place = text.lower().find(writing.lower())
        assert place < 0, f"a secret is shown: …{text[max(0, place - 100) : place + 100]}…"


def shown_by_error(error: BaseException) -> Iterable[str]:
    """Return all that an error shows: its text, attributes, traceback and pickle."""
    yield f"{error} {error!r} {vars(error)!r}"
    yield "".join(traceback.format_exception(error))
    yield repr(pickle.dumps(error))


def shown_with_variables(error: BaseException) -> str:
    """Return what tools show that print the local variables of all frames of pyk on the way.

    The first frame is that of the test, which has the secrets.
    """
    parts = []
    for each in _chain(error):
        frames = each.__traceback__
        while (
            frames is not None and frames.tb_frame.f_globals["__name__"].partition(".")[0] != "pyk"
        ):
            frames = frames.tb_next
        shown = traceback.TracebackException(type(each), each, frames, capture_locals=True)
        parts += [*shown.format(), repr(vars(each)), repr(getattr(each, "object", None))]
    return "".join(parts)


def _chain(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def shown_by_object(thing: Any) -> str:
    """Return what an object shows of itself and of what it consists of."""
    parts = [repr(thing), str(thing), repr(getattr(thing, "__dict__", ""))]
    for name in dir(thing):
        if name.startswith("_") and not name.startswith("__"):
            part = getattr(thing, name, None)
            parts += [repr(part), repr(getattr(part, "__dict__", ""))]
    return " ".join(parts)
