"""Principals of client certificates."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import InvalidConfigError
from pyk.reference_broker.security.distinguished_names import (
    UnmappedNameError,
    certificate_principals,
    distinguished_name,
    name_mapping,
)
from pyk.reference_broker.security.principal import ANONYMOUS, Principal

SUBJECT = (
    (("countryName", "DE"),),
    (("organizationName", "Orders, Inc."),),
    (("organizationalUnitName", "Shop"), ("userId", "7")),
    (("commonName", "Alice"),),
)
NAME = r"CN=Alice,OU=Shop+UID=7,O=Orders\, Inc.,C=DE"


def test_a_subject_is_written_with_its_last_part_first() -> None:
    assert distinguished_name(SUBJECT) == NAME


@pytest.mark.parametrize(("value", "written"), [("#a", r"\#a"), (" a ", r"\ a\ "), ('"', r"\"")])
def test_special_characters_are_escaped(value: str, written: str) -> None:
    assert distinguished_name(((("commonName", value),),)) == f"CN={written}"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", NAME),
        ("", NAME),
        ("RULE:^CN=(.*?),.*$/$1/", "Alice"),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
        ("RULE:^CN=(.*?),.*C=(.*)$/$1@$2/U, DEFAULT", "ALICE@DE"),
        ("RULE:^CN=Bob.*$/bob/,RULE:^.*$/other/", "other"),
        ("RULE:^CN=Bob.*$/bob/,DEFAULT", NAME),
        ("RULE:(.*)/<$1>/L", f"<{NAME.lower()}><>"),
        ("RULE:CN=(.*?)/$1!/", "!" + NAME.removeprefix("CN=")),
    ],
)
def test_the_first_rule_that_matches_makes_the_name(rules: str, name: str) -> None:
    assert name_mapping(rules)(NAME) == name


def test_a_certificate_that_no_rule_fits_lets_nobody_in() -> None:
    principal_of = certificate_principals("RULE:^CN=Bob,.*$/bob/")

    with pytest.raises(UnmappedNameError, match="CN=Alice"):
        principal_of({"subject": SUBJECT})
    assert principal_of(None) == ANONYMOUS


@pytest.mark.parametrize(
    "rules", ["RULE", "RULE:a/b", "RULE:(/b/", "DEFAULT,OTHER", "RULE:^CN=(.*)$/$2/"]
)
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(InvalidConfigError, match=r"ssl\.principal\.mapping\.rules"):
        name_mapping(rules)


def test_who_shows_no_certificate_is_anonymous() -> None:
    principal_of = certificate_principals("RULE:^CN=(.*?),.*$/$1/")

    assert principal_of(None) == ANONYMOUS
    assert principal_of({"subject": SUBJECT}) == Principal("Alice")
