"""What a response gives away: its error codes, and which names are visible. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

NAME_KEYS = {
    "name", "topic", "topicName", "topicId", "groupId", "transactionalId", "key", "resourceName",
    "user", "principalName",
}  # fmt: skip
KNOWN = {
    "orders", "secrets", "public", "private", "missing", "unknown", "new-secrets", "doomed-$user",
    "fresh-$user", "auto-$user", "readers", "strangers", "payer", "payer-open", "stranger",
    "nobody-else", "owner", "0", "",
}  # fmt: skip
"""The names of the matrix. Items with other names, such as topics of other users, are left out."""
LEFT_OUT = {
    "brokers", "nodeEndpoints", "members", "resources", "entity", "renewers", "recordErrors",
    "abortedTransactions", "activeProducers", "replicaNodes", "isrNodes", "offlineReplicas",
    "eligibleLeaderReplicas", "lastKnownElr", "credentialInfos", "matchingAcls",
    "unknownStateFilters", "supportedFeatures",
}  # fmt: skip
"""Lists and structs that no ACL decides on."""
COUNTED = {"configs"}
"""Lists of which only matters whether they are empty."""
NO_ID = "00000000-0000-0000-0000-000000000000"

Answers = dict[str, dict[str, Any]]
"""The answer to each request, by its name, of each user."""


@attrs.frozen
class Reader:
    """Reads the responses to one user."""

    user: str
    topics: Mapping[str, str]
    """Names of topics by id."""

    def read(self, form: Any) -> Any:
        """Return the part of a response in its JSON form that the ACLs decide on.

        Equal items of a list are one.
        """
        if isinstance(form, list):
            texts = {json.dumps(self.read(item)) for item in form if self._is_known(item)}
            return [json.loads(text) for text in sorted(texts - {"{}"})]
        if not isinstance(form, dict):
            return form
        kept = {key: self._value(key, value) for key, value in form.items() if _is_kept(key, value)}
        return {key: value for key, value in kept.items() if value != {}}

    def _value(self, key: str, value: Any) -> Any:
        if key in COUNTED:
            return bool(value)
        return self._name(key, value) if key in NAME_KEYS else self.read(value)

    def _name(self, key: str, value: str | None) -> str | None:
        if value is None:
            return None
        if key == "topicId":
            value = "no id" if value == NO_ID else self.topics.get(value, "unknown")
        return value.replace(self.user, "$user")

    def _is_known(self, item: Any) -> bool:
        if not isinstance(item, dict):
            return False
        names = {key: self._name(key, item[key]) for key in item.keys() & NAME_KEYS}
        words = {name for key, name in names.items() if key != "topicId"} - {None}
        return words <= KNOWN


def _is_kept(key: str, value: Any) -> bool:
    if key in LEFT_OUT:
        return False
    is_code = key.lower().endswith(("errorcode", "authorizedoperations"))
    return is_code or key in NAME_KEYS or isinstance(value, list | dict) or key == "numPartitions"


def codes(form: Any) -> set[int]:
    """Return all error codes in a response."""
    found: set[int] = set()
    forms = [form]
    while forms:
        one = forms.pop()
        if isinstance(one, dict):
            found |= {one[key] for key in one if key.endswith(("errorCode", "ErrorCode"))}
            forms += [value for value in one.values() if isinstance(value, list | dict)]
        elif isinstance(one, list):
            forms += [item for item in one if isinstance(item, list | dict)]
    return found


def grouped(answers: Answers) -> dict[str, list[dict[str, Any]]]:
    """Return the answers as they are kept: for each request, who gets what."""
    requests = dict.fromkeys(name for of_user in answers.values() for name in of_user)
    return {name: _of_request(name, answers) for name in requests}


def _of_request(name: str, answers: Answers) -> list[dict[str, Any]]:
    users: dict[str, list[str]] = {}
    for user, of_user in answers.items():
        if name in of_user:
            users.setdefault(json.dumps(of_user[name]), []).append(user)
    return [{"users": sorted(some), "answer": json.loads(text)} for text, some in users.items()]


def ungrouped(kept: Mapping[str, Iterable[Mapping[str, Any]]]) -> Answers:
    """Return the answers by user, as they were before :func:`grouped`."""
    answers: Answers = {}
    for name, of_request in kept.items():
        for group in of_request:
            for user in group["users"]:
                answers.setdefault(user, {})[name] = group["answer"]
    return answers


def differences(expected: Answers, found: Answers) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Return, for each request that was answered differently, the two answers by user."""
    different: dict[str, dict[str, tuple[Any, Any]]] = {}
    for user, of_user in found.items():
        for name, answer in of_user.items():
            wanted = expected.get(user, {}).get(name)
            if wanted != answer:
                different.setdefault(name, {})[user] = wanted, answer
    return different
