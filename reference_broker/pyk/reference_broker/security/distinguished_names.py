"""The principal of a client certificate: its subject, after Kafka's mapping rules (KIP-371). Pure.

::

    ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=.*$/$1/L,DEFAULT
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from pyk.reference_broker.config.errors import InvalidConfigError

from .principal import ANONYMOUS, Principal

OPTION = "ssl.principal.mapping.rules"
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_REFERENCE = re.compile(r"\$(\d)")
# The short names of RFC 2253, by those of OpenSSL that ``ssl`` shows.
_SHORT_NAMES = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}
_SPECIAL = re.compile(r'([,+"\\<>;])')

MapName = Callable[[str], str]
PrincipalOf = Callable[[dict[str, Any] | None], Principal]


class UnmappedNameError(Exception):
    """A certificate that no rule fits: its client is not let in."""


def distinguished_name(subject: Iterable[Sequence[tuple[str, str]]]) -> str:
    """Return a subject, as ``ssl`` shows it, in the form of RFC 2253: the last part first."""
    parts = [
        "+".join(f"{_SHORT_NAMES.get(name, name)}={_escaped(value)}" for name, value in part)
        for part in subject
    ]
    return ",".join(reversed(parts))


def certificate_principals(rules: str) -> PrincipalOf:
    """Return what tells who has shown a certificate: by these rules, ANONYMOUS without one.

    Raises ``InvalidConfigError``. What it returns raises :class:`UnmappedNameError`.
    """
    map_name = name_mapping(rules)

    def principal_of(certificate: dict[str, Any] | None) -> Principal:
        if not certificate:
            return ANONYMOUS
        return Principal(map_name(distinguished_name(certificate.get("subject", ()))))

    return principal_of


def name_mapping(rules: str) -> MapName:
    """Return the mapping that the first matching rule makes; raise ``InvalidConfigError``.

    What it returns raises :class:`UnmappedNameError` for a name that no rule fits. A rule that fits
    replaces all matches of its pattern, as ``replaceAll`` does for Kafka.
    """
    parsed = list(_parsed(rules.strip() or "DEFAULT"))

    def map_name(name: str) -> str:
        for pattern, replacement, case in parsed:
            if pattern is None:
                return name
            if pattern.fullmatch(name) is not None:
                return _CASES[case](pattern.sub(partial(_replaced, replacement), name))
        raise UnmappedNameError(f"no rule of {OPTION} fits its certificate, {name!r:.300}")

    return map_name


def _parsed(rules: str) -> Iterable[tuple[re.Pattern[str] | None, str, str]]:
    position = 0
    while position < len(rules):
        match = _RULE.match(rules, position)
        if match is None:
            raise InvalidConfigError(
                f"{OPTION}: cannot read {rules[position:][:50]!r}", name=OPTION
            )
        default, pattern, replacement, case = match.groups()
        try:
            compiled = None if default else re.compile(pattern)
        except re.error as error:
            raise InvalidConfigError(f"{OPTION}: {error}", name=OPTION) from None
        if compiled is not None:
            _check_references(compiled, replacement)
        yield compiled, replacement or "", case or ""
        position = match.end()


def _check_references(pattern: re.Pattern[str], replacement: str) -> None:
    """Raise ``InvalidConfigError`` if a replacement refers to a group that its pattern lacks."""
    for number in _REFERENCE.findall(replacement):
        if int(number) > pattern.groups:
            raise InvalidConfigError(f"{OPTION}: no group ${number} in the pattern", name=OPTION)


def _replaced(replacement: str, match: re.Match[str]) -> str:
    return _REFERENCE.sub(lambda reference: match[int(reference[1])] or "", replacement)


def _escaped(value: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", value)
    if escaped[:1] in ("#", " "):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if len(escaped) > 1 and escaped.endswith(" ") else escaped
