"""Write ``docs/admin-calls.md``: calls of the admin client, their APIs, and where each is tested.

``PYTHONPATH=tests python -m docs.admin_calls`` does it again.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pyk.clients import AsyncAdmin
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.core import AdminCore
from pyk.clients.config import AdminConfig
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.releases import RELEASES, versions_of
from pyk.protocol.schema import Message
from support.apache_kafka import LAST_OF_3, VERSION

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "admin-calls.md"
COMMAND = "PYTHONPATH=tests python -m docs.admin_calls"
SCENARIOS = ROOT / "tests" / "conformance"

OURS, THE_LAST, OLDER = "pyk", VERSION, LAST_OF_3
MARKS = {"'reference'": OURS, "'apache": THE_LAST, "LAST_OF_3": OLDER}
"""The brokers of a fixture, by what its parameters or its body name."""

JAVA = [
    "abortTransaction",
    "addRaftVoter",
    "alterClientQuotas",
    "alterConsumerGroupOffsets",
    "alterPartitionReassignments",
    "alterReplicaLogDirs",
    "alterShareGroupOffsets",
    "alterStreamsGroupOffsets",
    "alterUserScramCredentials",
    "clientInstanceId",
    "close",
    "createAcls",
    "createDelegationToken",
    "createPartitions",
    "createTopics",
    "deleteAcls",
    "deleteConsumerGroupOffsets",
    "deleteConsumerGroups",
    "deleteRecords",
    "deleteShareGroupOffsets",
    "deleteShareGroups",
    "deleteStreamsGroupOffsets",
    "deleteStreamsGroups",
    "deleteTopics",
    "describeAcls",
    "describeClassicGroups",
    "describeClientQuotas",
    "describeCluster",
    "describeConfigs",
    "describeConsumerGroups",
    "describeDelegationToken",
    "describeFeatures",
    "describeLogDirs",
    "describeMetadataQuorum",
    "describeProducers",
    "describeReplicaLogDirs",
    "describeShareGroups",
    "describeStreamsGroups",
    "describeTopics",
    "describeTransactions",
    "describeUserScramCredentials",
    "electLeaders",
    "expireDelegationToken",
    "fenceProducers",
    "forceTerminateTransaction",
    "incrementalAlterConfigs",
    "listClientMetricsResources",
    "listConfigResources",
    "listConsumerGroupOffsets",
    "listConsumerGroups",
    "listGroups",
    "listOffsets",
    "listPartitionReassignments",
    "listShareGroupOffsets",
    "listStreamsGroupOffsets",
    "listTopics",
    "listTransactions",
    "metrics",
    "registerMetricForSubscription",
    "removeMembersFromConsumerGroup",
    "removeRaftVoter",
    "renewDelegationToken",
    "unregisterBroker",
    "unregisterMetricFromSubscription",
    "updateFeatures",
]
"""The methods of Java's ``Admin`` in the release that the scenarios run against."""

MISSING = {
    "clientInstanceId": "pyk's admin client does not push metrics to brokers (KIP-714)",
    "metrics": "Java's registry of metrics; pyk's clients have `stats()` and the log",
    "registerMetricForSubscription": "pyk's admin client does not push metrics (KIP-1076)",
    "unregisterMetricFromSubscription": "pyk's admin client does not push metrics (KIP-1076)",
}
"""The methods of Java's ``Admin`` that pyk does not have, and why."""

LIFE = {"close", "from_properties", "start"}
"""The methods that are no calls to a broker."""

SINCE = {
    "0.8": (ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH),
    "0.9": (ApiKey.DESCRIBE_GROUPS, ApiKey.LEAVE_GROUP, ApiKey.LIST_GROUPS),
    "0.10.0": (ApiKey.API_VERSIONS,),
    "0.10.1": (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS),
    "0.11": (
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.DELETE_RECORDS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.WRITE_TXN_MARKERS,
    ),
    "1.0": (ApiKey.CREATE_PARTITIONS, ApiKey.DESCRIBE_LOG_DIRS),
    "1.1": (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DELETE_GROUPS,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
    ),
}
"""The releases before those that the reference broker can pretend to be, with their new APIs."""
EARLY = {key: release for release, keys in SINCE.items() for key in keys}

HEAD = f"""# Calls of the admin client

Made from the code: the calls of `Admin` and `AsyncAdmin`, the APIs that each may send (a broker has
the newest that it knows of those that do the same), and their versions in pyk. *Since* is the
first release of Apache Kafka that serves the API, not only as a preview. *Tested* names the brokers
that scenarios of `tests/conformance` run each call against: pyk's reference broker and releases of
Apache Kafka. Calls find coordinators and leaders by FindCoordinator and Metadata.

A call that needs an API, or a version of one, that a broker lacks raises an
`UnsupportedVersionError`, which names the API, the versions, and the first release that has them.

| call | Java's Admin {VERSION.rsplit(".", 1)[0]} | API (key, versions, since) | tested against |
| --- | --- | --- | --- |
"""


def page() -> str:
    """Return the text of the page."""
    tested = brokers_by_call()
    rows = [
        (f"`{name}`", java_name(name), "; ".join(map(_api, apis_of(name))), _brokers(tested[name]))
        for name in calls()
    ]
    rows += [("none", f"`{name}`", reason, "not applicable") for name, reason in MISSING.items()]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def calls() -> list[str]:
    """Return the names of the calls."""
    return sorted(
        name
        for name, value in inspect.getmembers(AsyncAdmin, callable)
        if not name.startswith("_") and name not in LIFE
    )


def java_name(name: str) -> str:
    """Return the method of Java's ``Admin`` that a call has its name from."""
    words = name.split("_")
    java = words[0] + "".join(word.title() for word in words[1:])
    return f"`{java}`" if java in JAVA else "pyk's own"


def _api(key: ApiKey) -> str:
    return f"{key.api_name} ({int(key)}, {key.stable_versions}, {_since(key)})"


def _since(key: ApiKey) -> str:
    """Return the release of Apache Kafka whose brokers are the first to serve an API."""
    return EARLY.get(key) or next(one for one in RELEASES if key in versions_of(one))


def _brokers(names: Iterable[str]) -> str:
    return ", ".join(one for one in (OURS, THE_LAST, OLDER) if one in names)


# -- what a call sends -----------------------------------------------------------------------------


def apis_of(name: str) -> list[ApiKey]:
    """Return the APIs that a call may use, as its code and all that this calls name them."""
    requests: set[ApiKey] = set()
    seen: set[CodeType] = set()
    pending: list[FunctionType] = [inspect.unwrap(getattr(AsyncAdmin, name))]
    while pending:
        function = pending.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for found in _named_by(function):
            if isinstance(found, FunctionType):
                pending.append(found)
            else:
                requests.add(ApiKey(found.api_key))
    return sorted(requests)


def _named_by(function: FunctionType) -> Iterator[Any]:
    """Yield the functions of the admin client and the classes of requests that a function names."""
    space = function.__globals__
    names = set(_names(function.__code__))
    modules = [space[one] for one in names if isinstance(space.get(one), ModuleType)]
    own_class = space.get(function.__qualname__.split(".")[0])
    is_method = isinstance(own_class, type)
    for name in names:
        method = METHODS.get(name) if is_method else None
        own = getattr(own_class, name, None) if is_method else None
        first = own if own not in (None, function) else space.get(name) or method
        for found in (first, *(getattr(module, name, None) for module in modules)):
            is_request = isinstance(found, type) and issubclass(found, Message)
            if (is_request and found.__name__.endswith("Request")) or (
                isinstance(found, FunctionType) and _is_of_admin(found)
            ):
                yield found


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _is_of_admin(function: FunctionType) -> bool:
    return function.__module__.startswith(("pyk.clients.admin.", "pyk.clients.offsets."))


def _methods() -> dict[str, FunctionType]:
    """Return the methods of all parts of the admin client by name."""
    core = AdminCore(AdminConfig.from_kwargs("localhost:9092"))
    loaded_on_first_use = (
        name
        for name, value in vars(AdminCore).items()
        if isinstance(value, functools.cached_property)
    )
    parts = {type(getattr(core, name)) for name in loaded_on_first_use}
    return {
        name: method
        for part in (*parts, Calls)
        for name, method in inspect.getmembers(part, inspect.isfunction)
    }


METHODS = _methods()


# -- where a call is tested ------------------------------------------------------------------------


@functools.cache
def brokers_by_call() -> dict[str, set[str]]:
    """Return the brokers that scenarios run each call against."""
    shared = _functions(SCENARIOS / "conftest.py")
    found: dict[str, set[str]] = {name: set() for name in calls()}
    for path in SCENARIOS.glob("test_*.py"):
        functions = shared | _functions(path)
        for name, function in functions.items():
            if not name.startswith("test_"):
                continue
            brokers = _brokers_of(function, functions)
            for call in _calls_in(function, functions) & found.keys():
                found[call] |= brokers
    return found


def _functions(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text("utf-8"))
    classes = (one.body for one in tree.body if isinstance(one, ast.ClassDef))
    return {
        one.name: one
        for body in (tree.body, *classes)
        for one in body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _brokers_of(function: Any, functions: dict[str, Any]) -> set[str]:
    """Return the brokers behind the fixtures of a function, and behind their fixtures."""
    brokers: set[str] = set()
    pending, seen = [function], set()
    while pending:
        for name in {one.arg for one in pending.pop().args.args} & functions.keys() - seen:
            seen.add(name)
            pending.append(functions[name])
            text = ast.unparse(functions[name])
            brokers |= {broker for mark, broker in MARKS.items() if mark in text}
    return brokers


def _calls_in(function: Any, functions: dict[str, Any]) -> set[str]:
    """Return the methods of admin clients that a function calls, or functions that it names."""
    called: set[str] = set()
    pending, seen = [function], set()
    while pending:
        one = pending.pop()
        seen.add(one.name)
        typed = (arg.arg for arg in one.args.args if "Admin" in ast.unparse(arg.annotation or arg))
        clients = "|".join(("admin", *typed))
        for node in ast.walk(one):
            if isinstance(node, ast.Attribute) and re.search(clients, ast.unparse(node.value)):
                called.add(node.attr)
            elif isinstance(node, ast.Name) and node.id in functions and node.id not in seen:
                pending.append(functions[node.id])
    return called


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
