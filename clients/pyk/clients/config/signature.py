"""Give a constructor the signature and docstring of its table of options.

``**options`` is typed for editors by the classes of :mod:`pyk.clients.config.keyword_arguments`;
``inspect.signature`` and ``help`` would show no more than ``**options``. The types, which take long
to evaluate, are looked up when somebody asks for a signature, not when a client is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, cached_property, wraps
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from pyk.clients import config as option_types
from pyk.clients.config.client_config import ClientConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.interpreter import check_interpreter

C = TypeVar("C", bound=type[Any])

REQUIRED = "bootstrap_servers"


def with_options_of(config: type[ClientConfig], keywords: str) -> Callable[[C], C]:
    """Return a decorator of a client class whose ``**options`` are those of ``config``.

    ``keywords`` is the name of the class with the types that may be given.
    """

    def decorate(client: C) -> C:
        table: Any = config  # mypy does not take classes of attrs for hashable
        constructor = _without_frames(_with_clear_errors(client.__dict__["__init__"]))
        setattr(client, "__init__", constructor)  # noqa: B010 - mypy refuses the assignment
        from_properties = _without_frames(client.__dict__["from_properties"].__func__)
        setattr(client, "from_properties", classmethod(from_properties))  # noqa: B010 - as above
        function: Any
        for function in (constructor, from_properties):
            function.__signature__ = _LazySignature(function.__wrapped__, table, keywords)
        constructor.__doc__ = f"{inspect.getdoc(constructor)}\n\n{_explain(table)}"
        return client

    return decorate


class _LazySignature(inspect.Signature):
    """The signature of a function with the options instead of ``**keywords``, made when read."""

    def __init__(self, function: Callable[..., Any], config: Any, keywords: str) -> None:
        self._of = (function, config, keywords)

    @cached_property
    def _made(self) -> inspect.Signature:
        function, config, keywords = self._of
        return _spread(inspect.signature(function), _parameters(config, keywords))

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        return self._made.parameters

    @property
    def return_annotation(self) -> Any:
        return self._made.return_annotation

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        return self._made.replace(**changes)

    def __reduce__(self) -> Any:
        return self._made.__reduce__()


def _with_clear_errors(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor, with errors about positional arguments that name the client.

    Python's own would name a class that users do not know, and not what to do.
    """

    @wraps(constructor)
    def construct(self: Any, *servers: Any, **keywords: Any) -> None:
        client = type(self).__name__
        if len(servers) > 1:
            raise TypeError(
                f"{client}() takes one positional argument, {REQUIRED}, not {len(servers)}: give "
                "all others by name"
            )
        if servers and REQUIRED in keywords:
            takes_topics = "topics" in inspect.signature(constructor).parameters
            advice = "; give topics by name: topics=[…]" if takes_topics else ""
            raise TypeError(
                f"{client}() got {REQUIRED} twice: {servers[0]!r} by position, "
                f"{keywords[REQUIRED]!r} by name{advice}"
            )
        constructor(self, *servers, **keywords)

    return construct


def _without_frames(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, with errors of options that lead to no frame of pyk but one.

    Local variables of those below hold passwords and keys, which tools that report errors print.
    The text of such an error says all that is to be said. What comes too late to be imported is
    refused before.
    """

    @wraps(function)
    def call(*given: Any, **keywords: Any) -> Any:
        check_interpreter("a client cannot be created")
        try:
            return function(*given, **keywords)
        except ConfigurationError as error:
            given = ()
            keywords.clear()
            error.__cause__ = error.__context__ = None
            raise error.with_traceback(None) from None

    return call


@cache  # a client and its asyncio twin have the same
def _parameters(config: Any, keywords: str) -> list[inspect.Parameter]:
    types = get_type_hints(getattr(option_types, keywords))
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if option.name == REQUIRED else option.default,
            annotation=types.get(option.name, inspect.Parameter.empty),
        )
        for option in config.options().values()
    ]


@cache
def _explain(config: Any) -> str:
    """Return two lines for each option: what it is for; what is valid, and the default."""
    return "\n".join(
        f"{option.name}: {option.doc}\n    {option.kind.describe()}"
        + ("" if option.name == REQUIRED else f"; default {option.default!r}")
        for option in config.options().values()
    )


def _spread(signature: inspect.Signature, options: list[inspect.Parameter]) -> inspect.Signature:
    """Return a signature with the options instead of ``**keywords``."""
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    known = {one.name for one in own}
    return signature.replace(parameters=[*own, *(one for one in options if one.name not in known)])
