"""The kinds of values that options of security take. No message repeats what may be secret."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pyk.clients.config.values import items_of
from pyk.clients.security.exchange import Credentials
from pyk.clients.security.proxies import Proxy, parse_proxy
from pyk.runtime import slotted
from pyk.runtime.secret import Secret, SecretFunction

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
OLD_TLS_VERSIONS = ("SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")


@slotted.frozen
class SecretText:
    """A str that is never shown, or None; also a function that returns it, if that is allowed."""

    or_function: bool = False

    def parse(self, given: object) -> Secret | None:
        if given is None or isinstance(given, Secret):
            return given
        if self.or_function and callable(given):
            return SecretFunction(given)
        if not isinstance(given, str):
            kinds = "a str, or a function that returns one" if self.or_function else "a str"
            raise ValueError(f"must be {kinds}, not {type(given).__name__}")
        return Secret(given) if given else None

    def describe(self) -> str:
        return "str, or function that returns one" if self.or_function else "str; it is never shown"


@runtime_checkable
class PathLike(Protocol):
    """A path as an object, such as :class:`pathlib.Path`."""

    def __fspath__(self) -> str: ...


@slotted.frozen
class FilePath:
    """The path of a file, or None."""

    def parse(self, given: object) -> str | None:
        if given in (None, ""):
            return None
        path = given.__fspath__() if isinstance(given, PathLike) else given
        if not isinstance(path, str):
            raise ValueError(f"must be the path of a file, not {type(path).__name__}")
        if "-----BEGIN" in path:
            raise ValueError("must be the path of a file, not its contents")
        return path

    def describe(self) -> str:
        return "path of a file"


@slotted.frozen
class TlsContext:
    """An object of :class:`ssl.SSLContext`, or None."""

    def parse(self, given: object) -> Any:
        if given is None or hasattr(given, "wrap_bio"):
            return given
        raise ValueError(f"must be an ssl.SSLContext, not {type(given).__name__}")

    def describe(self) -> str:
        return "ssl.SSLContext"


@slotted.frozen
class TlsVersions:
    """Versions of TLS; older ones than 1.2 are left out."""

    def parse(self, given: object) -> tuple[str, ...]:
        named = [str(one).strip() for one in items_of(given)]
        unknown = [one for one in named if one not in TLS_VERSIONS + OLD_TLS_VERSIONS]
        if unknown:
            raise ValueError(f"names {unknown[0]!r}; versions are {', '.join(TLS_VERSIONS)}")
        versions = tuple(one for one in TLS_VERSIONS if one in named)
        if not versions:
            raise ValueError("names no version that is safe: TLSv1.2 and TLSv1.3 are")
        return versions

    def describe(self) -> str:
        return "'TLSv1.2', 'TLSv1.3' or both"


@slotted.frozen
class ProxyUrl:
    """The URL of a proxy, or None."""

    def parse(self, given: object) -> Proxy | None:
        if given in (None, ""):
            return None
        text = given.reveal() if isinstance(given, Secret) else given
        if isinstance(text, Proxy):
            return text
        if not isinstance(text, str):
            raise ValueError(f"must be a str, not {type(text).__name__}")
        return parse_proxy(text)

    def describe(self) -> str:
        return "URL: `socks5://`, `socks5h://` or `http://`"


@slotted.frozen
class CredentialsObject:
    """An object of :mod:`pyk.clients.security` to log in with, or None."""

    def parse(self, given: object) -> Credentials | None:
        if given is None:
            return None
        is_class = isinstance(given, type)
        if is_class or not (hasattr(given, "mechanism") and hasattr(given, "exchange")):
            name = given.__name__ if isinstance(given, type) else type(given).__name__
            advice = "; give Oauth(…) with it" if callable(given) and not is_class else ""
            raise ValueError(f"must be an object such as Plain(…) or Scram(…), not {name}{advice}")
        return given  # type: ignore[return-value]

    def describe(self) -> str:
        return "`Plain(…)`, `Scram(…)`, `Oauth(…)`, `MskIam(…)` or `Kerberos(…)`"
