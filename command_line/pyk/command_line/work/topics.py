"""Create, describe, change and delete topics and their records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pyk.clients import (
    Admin,
    AlterConfig,
    AlterConfigOperation,
    ConfigResource,
    CreatedTopic,
    KafkaError,
    NewTopic,
    SeveralErrors,
    TopicAlreadyExistsError,
    TopicDescription,
    TopicPartition,
    UnknownTopicOrPartitionError,
)
from pyk.clients.wording import counted
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_facts, print_json, print_rows, tell, wants_json
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.frame.tables import Column
from pyk.command_line.moments import Moment
from pyk.command_line.partition_lists import parse_partitions

PARTITIONS = (
    Column("partition"),
    Column("leader"),
    Column("replicas"),
    Column("inSyncReplicas", "In sync"),
    Column("startOffset"),
    Column("endOffset"),
)
RECORDS = (
    Column("topic", style="bold"),
    Column("partition"),
    Column("startOffset"),
    Column("endOffset"),
    Column("count", "Offsets"),
)


def create(new: Sequence[NewTopic], *, if_not_exists: bool, dry_run: bool) -> None:
    """Create topics, or with ``dry_run`` only check them."""
    created: Mapping[str, CreatedTopic] = {}
    errors: Mapping[str, KafkaError] = {}
    failure: KafkaError | None = None
    with admin() as client:
        try:
            created = client.create_topics(new, validate_only=dry_run)
        except SeveralErrors as several:
            created, errors, failure = several.results, several.errors, several
        except KafkaError as error:
            errors, failure = {new[0].name: error}, error
    for one in created.values():
        _tell_created(one, is_dry_run=dry_run)
    exist = [name for name, one in errors.items() if isinstance(one, TopicAlreadyExistsError)]
    if failure is not None and not (if_not_exists and len(exist) == len(errors)):
        raise failure
    for name in exist:
        tell(f"topic {name} exists already", {"topic": name, "isNew": False})


def _tell_created(created: CreatedTopic, *, is_dry_run: bool) -> None:
    counts = "as the broker says"  # a broker that is too old to say it
    if created.partitions is not None:
        partitions = counted(created.partitions, "partition")
        counts = f"{partitions}, replication factor {created.replication_factor}"
    done = "would be created" if is_dry_run else "created"
    form = {
        "topic": created.name,
        "id": None if created.topic_id is None else str(created.topic_id),
        "partitions": created.partitions,
        "replicationFactor": created.replication_factor,
        "isNew": True,
    }
    tell(f"topic {created.name} {done}: {counts}", form)


def describe(names: Sequence[str]) -> None:
    """Print the partitions of topics, their offsets, and the settings that were changed."""
    from pyk.command_line.work.log_offsets import log_ranges

    with admin() as client:
        described = described_topics(client, names)
        configs = client.describe_configs(ConfigResource.topic(name) for name in described)
        ranges = log_ranges(client, [one for some in described.values() for one in _led(some)])
    for name, one in described.items():
        entries = configs[ConfigResource.topic(name)].values()
        changed = {entry.name: entry.value for entry in entries if entry.source.name == "TOPIC"}
        _print_description(one, changed, ranges)


def _print_description(
    one: TopicDescription,
    configs: dict[str, str | None],
    ranges: dict[TopicPartition, tuple[int, int]],
) -> None:
    partitions = []
    for each in one.partitions:
        start, end = ranges.get(TopicPartition(one.name, each.partition), (None, None))
        partitions.append(
            {
                "partition": each.partition,
                "leader": each.leader_id,
                "leaderEpoch": each.leader_epoch,
                "replicas": list(each.replicas),
                "inSyncReplicas": list(each.in_sync_replicas),
                "offlineReplicas": list(each.offline_replicas),
                "startOffset": start,
                "endOffset": end,
            }
        )
    topic_id = None if one.topic_id is None else str(one.topic_id)
    facts = {"topic": one.name, "id": topic_id, "isInternal": one.is_internal}
    if wants_json():
        print_json({**facts, "configs": configs, "partitions": partitions})
        return
    print_facts({**facts, "configs": [f"{name}={value}" for name, value in configs.items()]})
    print_rows(PARTITIONS, partitions)


def _led(one: TopicDescription) -> list[TopicPartition]:
    """Return the partitions that have a leader: others cannot be asked for their offsets."""
    return [
        TopicPartition(one.name, each.partition)
        for each in one.partitions
        if each.leader_id is not None
    ]


def alter(
    name: str,
    *,
    partitions: int | None,
    configs: Mapping[str, str],
    unset: Sequence[str],
    dry_run: bool,
) -> None:
    """Add partitions to a topic, and change its settings."""
    changes = [AlterConfig(key, value) for key, value in configs.items()]
    changes += [AlterConfig(key, operation=AlterConfigOperation.DELETE) for key in unset]
    with admin() as client:
        described_topics(client, [name])  # which suggests what a misspelt name meant
        if changes:
            resource = ConfigResource.topic(name)
            if unset:  # brokers ignore the name of a setting that does not exist
                check_settings("topic", name, unset, client.describe_configs([resource])[resource])
            client.incremental_alter_configs({resource: changes}, validate_only=dry_run)
        if partitions is not None:
            client.create_partitions({name: partitions}, validate_only=dry_run)
    tell(f"topic {name} {'would be ' if dry_run else ''}changed", {"topic": name})


def delete(names: Sequence[str], *, if_exists: bool, is_sure: bool) -> None:
    """Delete topics."""
    with admin() as client:
        if if_exists:
            existing = client.list_topics(internal=True)
            names = [name for name in names if name in existing]
        else:
            described_topics(client, names)
        if names:
            confirm(f"Delete {', '.join(names)} with all records?", is_sure=is_sure)
            client.delete_topics(names)
    for name in names:
        tell(f"topic {name} deleted", {"topic": name})


def show_records(
    names: Sequence[str],
    *,
    partitions: Sequence[int],
    delete_before: Moment | None,
    is_sure: bool,
) -> None:
    """Print the ranges of logs, after deleting the records before a moment if one is given."""
    from pyk.command_line.work.log_offsets import log_ranges, offsets_at

    with admin() as client:
        chosen = _chosen(described_topics(client, names).values(), partitions)
        if delete_before is not None:
            _check_ends(log_ranges(client, chosen), delete_before)
            before = offsets_at(client, chosen, delete_before)
            confirm(f"Delete records of {', '.join(names)} for good?", is_sure=is_sure)
            client.delete_records(before)
        ranges = log_ranges(client, chosen)
    rows = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "startOffset": start,
            "endOffset": end,
            "count": end - start,
        }
        for one, (start, end) in sorted(ranges.items())
    ]
    print_rows(RECORDS, rows)


def _check_ends(ranges: Mapping[TopicPartition, tuple[int, int]], delete_before: Moment) -> None:
    """Refuse an offset that a log does not have, as brokers do, instead of deleting all of it."""
    for one, (_, end) in sorted(ranges.items()):
        if delete_before.offset is not None and delete_before.offset > end:
            raise CommandError(
                f"{one.topic}-{one.partition} ends at offset {end}, before "
                f"{delete_before.offset}; nothing was deleted: choose partitions with -p, "
                "or delete all with --delete-before latest"
            )


def _chosen(
    described: Iterable[TopicDescription], partitions: Sequence[int]
) -> list[TopicPartition]:
    chosen = []
    for one in described:
        existing = {each.partition for each in one.partitions}
        for partition in sorted(set(partitions) - existing):
            raise CommandError(f"topic {one.name!r} has no partition {partition}")
        chosen += [
            TopicPartition(one.name, number) for number in sorted(set(partitions) or existing)
        ]
    return chosen


def described_topics(client: Admin, names: Iterable[str]) -> dict[str, TopicDescription]:
    """Return topics by name; the error of an unknown one suggests the nearest that exists."""
    try:
        return client.describe_topics(names)
    except UnknownTopicOrPartitionError as error:
        unknown = str(error.topic)
    except SeveralErrors as several:
        missing = several.errors.items()
        found = [n for n, one in missing if isinstance(one, UnknownTopicOrPartitionError)]
        if not found:
            raise
        unknown = str(found[0])
    advice = did_you_mean(unknown, client.list_topics(internal=True))
    raise CommandError(f"topic {unknown!r} does not exist; {advice or 'see pyk topic list'}")


def check_settings(kind: str, name: str, settings: Iterable[str], known: Collection[str]) -> None:
    """Raise for a setting that does not exist, and suggest the nearest."""
    for setting in settings:
        if setting not in known:
            advice = did_you_mean(setting, known) or "pyk config show --all lists all"
            raise CommandError(f"{kind} {name!r} has no setting {setting!r}; {advice}")


def named_partitions(client: Admin, topics: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions that options name."""
    try:
        wanted = dict(map(parse_partitions, topics))
    except ValueError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None
    found: list[TopicPartition] = []
    for name, described in described_topics(client, wanted).items():
        existing = {one.partition for one in described.partitions}
        for partition in sorted(set(wanted[name]) - existing):
            raise CommandError(f"topic {name!r} has no partition {partition}")
        found += [TopicPartition(name, number) for number in sorted(wanted[name] or existing)]
    return found
