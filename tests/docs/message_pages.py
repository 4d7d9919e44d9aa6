"""The reference of messages, ``docs/messages/``, written from the classes.

``PYTHONPATH=tests python -m docs.message_pages`` writes all pages again. Messages of a module that
no family names are on the page of the others, so that a new message needs only that command.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pyk.protocol import ApiKey, Message, MessageKind, Struct, known_messages, message_class
from pyk.protocol.fields import ZERO_UUID, ArrayKind, Field, Kind, StructKind
from pyk.protocol.versions import LAST_VERSION, VersionRange

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "messages"
COMMAND = "PYTHONPATH=tests python -m docs.message_pages"


class Family(NamedTuple):
    """Messages that belong on one page."""

    title: str
    introduction: str
    modules: str
    """Modules of ``pyk.protocol.messages``, in the order of the page."""


FAMILIES = {
    "records": Family(
        "Records",
        "Writing and reading partitions.",
        "produce fetch list_offsets offset_for_leader_epoch delete_records describe_producers "
        "producer_snapshot",
    ),
    "connections": Family(
        "Connections",
        "What stands in front of every message, and what a connection begins with.",
        "headers api_versions sasl_handshake sasl_authenticate get_telemetry_subscriptions "
        "push_telemetry",
    ),
    "cluster": Family(
        "The cluster",
        "Where things are: brokers, leaders, coordinators.",
        "metadata describe_cluster describe_topic_partitions find_coordinator describe_log_dirs "
        "alter_replica_log_dirs elect_leaders alter_partition_reassignments "
        "list_partition_reassignments",
    ),
    "topics": Family(
        "Topics and configurations",
        "Making, changing and removing topics; configurations, quotas and features.",
        "create_topics delete_topics create_partitions describe_configs alter_configs "
        "incremental_alter_configs list_config_resources describe_client_quotas "
        "alter_client_quotas update_features",
    ),
    "groups": Family(
        "Consumer groups",
        "Membership in both protocols, committed offsets, and what coordinators keep of them.",
        "join_group sync_group heartbeat leave_group consumer_group_heartbeat offset_commit "
        "offset_fetch offset_delete list_groups describe_groups consumer_group_describe "
        "delete_groups consumer_protocol group_records consumer_group_records",
    ),
    "share-groups": Family(
        "Share groups",
        "Records handed out one by one (KIP-932), and the state behind it.",
        "share_group_heartbeat share_group_describe share_fetch share_acknowledge "
        "describe_share_group_offsets alter_share_group_offsets delete_share_group_offsets "
        "initialize_share_group_state read_share_group_state read_share_group_state_summary "
        "write_share_group_state delete_share_group_state share_group_records share_state_records",
    ),
    "streams-groups": Family(
        "Streams groups",
        "Groups that run a topology (KIP-1071).",
        "streams_group_heartbeat streams_group_describe streams_group_topology_description_update "
        "streams_group_records streams_protocol",
    ),
    "transactions": Family(
        "Transactions",
        "Several partitions at once or not at all (KIP-98, KIP-890).",
        "init_producer_id add_partitions_to_txn add_offsets_to_txn txn_offset_commit end_txn "
        "write_txn_markers describe_transactions list_transactions transaction_records "
        "transaction_index control_records",
    ),
    "access": Family(
        "Access",
        "ACLs, credentials, delegation tokens.",
        "describe_acls create_acls delete_acls describe_user_scram_credentials "
        "alter_user_scram_credentials create_delegation_token renew_delegation_token "
        "expire_delegation_token describe_delegation_token access_records",
    ),
    "quorum": Family(
        "The metadata quorum",
        "How controllers elect a leader and replicate its log (KIP-595, KIP-853).",
        "vote begin_quorum_epoch end_quorum_epoch describe_quorum fetch_snapshot add_raft_voter "
        "remove_raft_voter update_raft_voter raft_records quorum_state",
    ),
    "brokers": Family(
        "Brokers and controllers",
        "What they tell each other.",
        "broker_registration broker_heartbeat unregister_broker controller_registration "
        "unregister_controller alter_partition allocate_producer_ids assign_replicas_to_dirs "
        "envelope leader_and_isr stop_replica update_metadata controlled_shutdown",
    ),
    "metadata-records": Family(
        "Metadata records",
        "The log of the cluster, and that of remote storage.",
        "metadata_records metadata_change_records remote_log_records",
    ),
}
OTHERS = Family("Other messages", "What has no page of its own yet.", "")


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    by_page = _messages_by_page()
    written = {
        f"{slug}.md": _page(FAMILIES.get(slug, OTHERS), modules)
        for slug, modules in by_page.items()
    }
    page_of = {
        name: f"{slug}.md"
        for slug, modules in by_page.items()
        for names in modules.values()
        for name in names
    }
    return {"README.md": _index(page_of)} | written


def write_pages() -> None:
    """Write all pages, and remove those of deleted families."""
    written = pages()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, "utf-8")


def _messages_by_page() -> dict[str, dict[str, list[str]]]:
    """Return the names of messages by module, for each page."""
    modules: dict[str, list[str]] = {}
    for name in known_messages():
        modules.setdefault(_module_of(name), []).append(name)
    by_page = {
        slug: {module: modules.pop(module) for module in family.modules.split()}
        for slug, family in FAMILIES.items()
    }
    return by_page | ({"others": modules} if modules else {})


def _page(family: Family, modules: dict[str, list[str]]) -> str:
    sections = [_section(module, names) for module, names in modules.items()]
    contents = " · ".join(f"[{_title(m)}](#{_anchor(_title(m))})" for m in modules)
    head = f"# {family.title}\n\n{family.introduction} [All messages](README.md)\n\n{contents}\n"
    return "\n".join([head, *sections])


def _section(module: str, names: list[str]) -> str:
    """Return the section of one module: an API, or related records."""
    classes = [message_class(name) for name in names]
    lines = [f"## {_title(module)}", "", *_paragraphs(_about(module)), ""]
    if (api := _api(module)) is not None:
        flexible = "none" if api.flexible.is_empty else str(api.flexible)
        lines += [
            f"API key {int(api)}, versions {api.versions}, flexible {flexible}{_users(api)}.",
            "",
            *_changes(module, classes),
        ]
    for cls in classes:
        lines += _message(module, cls)
    return "\n".join(lines)


def _message(module: str, cls: type[Message]) -> list[str]:
    lines = [f"### {cls.__name__}", ""]
    if cls.kind not in (MessageKind.REQUEST, MessageKind.RESPONSE):
        number = f", type {cls.api_key}" if cls.api_key >= 0 else ""
        flexible = "" if cls.flexible.is_empty else f", flexible {cls.flexible}"
        kind = cls.kind.value.replace("-", " ")
        lines += [f"A {kind}{number}, versions {cls.versions}{flexible}.", ""]
    lines += [*_paragraphs(cls.__doc__ or ""), ""]
    rows = list(_rows(module, cls, cls.versions, ""))
    if rows:
        lines += ["| field | type | versions | default | |", "| --- | --- | --- | --- | --- |"]
        lines += [*rows, ""]
    else:
        lines += ["It has no fields.", ""]
    return lines


def _rows(module: str, cls: type[Struct], within: VersionRange, indent: str) -> Iterator[str]:
    texts = _tree(module)
    for field in cls.fields:
        present = field.versions & within
        if present.is_empty:
            continue
        inner = _struct_of(field.kind)
        about = [texts.get(f"{cls.__name__}.{field.name}", "")]
        if inner is not None:
            about.insert(0, texts.get(inner.__name__, ""))
        about.append(_facts(field, present))
        meaning = " ".join(_text(each) for each in about if each)
        versions = "" if present == within else _shown(present, within)
        yield (
            f"| {indent}`{field.name}` | {_type(field.kind)} | {versions} | {_default(field)} "
            f"| {meaning} |"
        )
        if inner is not None:
            yield from _rows(module, inner, present, indent + "&emsp;")


def _facts(field: Field, present: VersionRange) -> str:
    facts = []
    nullable = field.nullable & present
    if not nullable.is_empty:
        facts.append("may be null" if nullable == present else f"may be null ({field.nullable})")
    if field.tag is not None:
        facts.append(f"tag {field.tag}")
    if field.ignorable:
        facts.append("ignorable")
    if field.secret:
        facts.append("secret")
    return f"*{', '.join(facts)}*" if facts else ""


def _default(field: Field) -> str:
    if isinstance(field.kind, StructKind) or field.default in (field.kind.zero, ZERO_UUID):
        return "`null`" if field.default is None else ""
    if field.default is None:
        return "`null`"
    return f"`{field.default!r}`"


def _changes(module: str, classes: list[type[Message]]) -> list[str]:
    """Return the table of what each version adds."""
    lowest, highest = classes[0].versions.lowest, classes[0].versions.highest
    if lowest == highest:
        return []
    lines = [f"### Versions of {_title(module)}", "", "| version | differs by |", "| --- | --- |"]
    for version in range(lowest + 1, highest + 1):
        changes = ["the flexible encoding"] if version == classes[0].flexible.lowest else []
        for cls in classes:
            found = list(_changed(cls, version, ""))
            if found:
                changes.append(f"{cls.kind.value}: {', '.join(found)}")
        lines.append(f"| {version} | {'; '.join(changes) or 'nothing in the fields'} |")
    return [*lines, ""]


def _changed(cls: type[Struct], version: int, path: str) -> Iterator[str]:
    for field in cls.fields:
        before, after = version - 1 in field.versions, version in field.versions
        if after != before:
            yield f"{'+' if after else '-'} `{path}{field.name}`"
        elif after and (inner := _struct_of(field.kind)) is not None:
            yield from _changed(inner, version, f"{path}{field.name}.")


INDEX_HEAD = (
    "# Messages",
    "",
    "Every message that `pyk.protocol` reads and writes: the fields in the order of the wire,",
    "with their types and the versions that have them. `FetchRequest` is",
    '`message_class("FetchRequest")`, a class in `pyk.protocol.messages.fetch`.',
    "",
    "| in the tables | |",
    "| --- | --- |",
    "| versions | those with the field; empty: all of its message or struct |",
    "| default | empty for 0, false, an empty text, list or struct |",
    "| *flexible* | versions in the compact encoding, with tagged fields (KIP-482) |",
    "| *tag* | a tagged field, on the wire only where it is not at its default |",
    "| *ignorable* | versions without it drop its value; without this they refuse it |",
    "| *secret* | hidden wherever messages are shown |",
    "",
    f"Written from the classes by `{COMMAND}`; change the docstrings there.",
    "",
    "| page | |",
    "| --- | --- |",
)


def _index(page_of: dict[str, str]) -> str:
    lines = list(INDEX_HEAD)
    for slug in dict.fromkeys(page.removesuffix(".md") for page in page_of.values()):
        family = FAMILIES.get(slug, OTHERS)
        lines.append(f"| [{family.title}]({slug}.md) | {family.introduction} |")
    lines += ["", "## By API key", "", "| key | API | versions | flexible | |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for api in ApiKey:
        page = page_of.get(f"{api.api_name}Request")
        if page is not None:
            lines.append(_index_row(api, page))
    lines += ["", "## By name", ""]
    lines += _links_by_initial(page_of)
    lines += [
        "## Records by type",
        "",
        "| topic | type | key | value |",
        "| --- | --- | --- | --- |",
    ]
    lines += _record_rows(page_of)
    return "\n".join(lines) + "\n"


def _links_by_initial(page_of: dict[str, str]) -> Iterator[str]:
    for initial in sorted({name[0] for name in page_of}):
        links = (
            f"[{name}]({page_of[name]}#{_anchor(name)})"
            for name in sorted(page_of)
            if name.startswith(initial)
        )
        yield f"**{initial}** {' · '.join(links)}\n"


def _index_row(api: ApiKey, page: str) -> str:
    versions = str(api.versions)
    if api.versions.lowest != api.versions.highest:
        versions = f"[{versions}]({page}#{_anchor(f'Versions of {api.api_name}')})"
    flexible = "" if api.flexible.is_empty else str(api.flexible)
    link = f"[{api.api_name}]({page}#{_anchor(api.api_name)})"
    about = _text(_about(api.name.lower()).partition("\n\n")[0])
    return f"| {int(api)} | {link} | {versions} | {flexible} | {about} |"


def _record_rows(page_of: dict[str, str]) -> Iterator[str]:
    for kind, topic in RECORD_TOPICS:
        for name in sorted(
            (name for name in page_of if message_class(name).kind is kind),
            key=lambda name: (topic(name), message_class(name).api_key),
        ):
            cls = message_class(name)
            link = f"[{name}]({page_of[name]}#{_anchor(name)})"
            if kind is MessageKind.METADATA:
                yield f"| {topic(name)} | {cls.api_key} | | {link} |"
                continue
            value = f"{name.removesuffix('Key')}Value"
            linked = f"[{value}]({page_of[value]}#{_anchor(value)})"
            yield f"| {topic(name)} | {cls.api_key} | {link} | {linked} |"


def _topic_of_key(name: str) -> str:
    if _module_of(name) == "transaction_records":
        return "`__transaction_state`"
    if _module_of(name) == "share_state_records":
        return "`__share_group_state`"
    return "`__consumer_offsets`"


def _topic_of_metadata(name: str) -> str:
    is_remote = _module_of(name) == "remote_log_records"
    return "`__remote_log_metadata`" if is_remote else "`__cluster_metadata`"


RECORD_TOPICS = (
    (MessageKind.COORDINATOR_KEY, _topic_of_key),
    (MessageKind.METADATA, _topic_of_metadata),
)


def _module_of(name: str) -> str:
    return message_class(name).__module__.rpartition(".")[2]


def _api(module: str) -> ApiKey | None:
    return ApiKey.__members__.get(module.upper())


def _title(module: str) -> str:
    api = _api(module)
    return module.replace("_", " ").capitalize() if api is None else api.api_name


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _users(api: ApiKey) -> str:
    if api.is_internal:
        return "; sent by brokers and controllers only"
    return "; passed on to the controller" if api.is_forwardable else ""


def _struct_of(kind: Kind) -> type[Struct] | None:
    if isinstance(kind, ArrayKind):
        return _struct_of(kind.of)
    return kind.struct if isinstance(kind, StructKind) else None


def _type(kind: Kind) -> str:
    if isinstance(kind, ArrayKind):
        return f"list of {_type(kind.of)}"
    return kind.name


def _shown(versions: VersionRange, within: VersionRange) -> str:
    if versions.highest == min(within.highest, LAST_VERSION):
        return f"{versions.lowest}+"
    return str(versions)


@cache
def _tree(module: str) -> dict[str, str]:
    """Return the docstrings of a module of messages: under "", class and class.field."""
    tree = ast.parse(inspect.getsource(sys.modules[f"pyk.protocol.messages.{module}"]))
    texts = {"": ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            texts[node.name] = ast.get_docstring(node) or ""
            for field, after in pairwise(node.body):
                if isinstance(field, ast.AnnAssign) and (text := _literal(after)) is not None:
                    texts[f"{node.name}.{ast.unparse(field.target)}"] = inspect.cleandoc(text)
    return texts


def _literal(node: ast.stmt) -> str | None:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return str(node.value.value) if is_text else None  # type: ignore[attr-defined]


def _about(module: str) -> str:
    """Return the docstring of a module without the leading name of its API."""
    text = _tree(module)[""].removeprefix(f"{_title(module)}: ")
    return text[0].upper() + text[1:]


def _text(docstring: str) -> str:
    """Return a docstring as one line of Markdown for a table."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(docstring.split()))
    return text.replace("``", "`").replace("|", "\\|")


def _paragraphs(docstring: str) -> list[str]:
    return "\n\n".join(_text(part) for part in docstring.split("\n\n")).split("\n")


if __name__ == "__main__":
    write_pages()
