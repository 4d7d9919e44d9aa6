"""Where the nodes of a cluster keep their data, by its arguments and configuration. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_count

from .config import InvalidConfigError

IN_MEMORY = "/pyk"
METADATA_LOG_DIR = "metadata.log.dir"


@slotted.frozen
class DataFolders:
    """The folders of a cluster. ``log_dirs``, if there are any, are those of its only node."""

    folders: tuple[str, ...]
    log_dirs: tuple[str, ...] = ()

    def of_node(self, node: int) -> tuple[str, ...]:
        """Return the log directories of a node."""
        return self.log_dirs or tuple(_of_node(folder, node) for folder in self.folders)

    def metadata_log_dir(self, node: int, configured: object) -> object:
        """Return where a node has its metadata log: one of the folders stands for its directory."""
        is_folder = configured in self.folders and not self.log_dirs
        return _of_node(str(configured), node) if is_folder else configured


def _of_node(folder: str, node: int) -> str:
    return f"{folder}/node{node}"


def data_folders(
    data_dirs: Sequence[str] | None, log_dirs: int, config: dict[str, object]
) -> DataFolders:
    """Return the folders of a cluster, and take ``log.dirs`` out of its configuration.

    ``data_dirs`` are those that were given, None for a cluster in memory; ``log_dirs`` is how many
    log directories a node has. Raises ``InvalidConfigError`` if arguments and configuration
    contradict each other.
    """
    given = [str(config.pop(name)) for name in ("log.dirs", "log.dir") if name in config]
    if given:
        if data_dirs is not None or log_dirs != 1:
            raise InvalidConfigError(
                "log.dirs and data_dir= (--data-dir) were given: use one of them", name="log.dirs"
            )
        folders_given = _split(given[0])
        if not folders_given:
            raise InvalidConfigError("log.dirs names no folder", name="log.dirs")
        return DataFolders((), folders_given)
    folders = [IN_MEMORY] if data_dirs is None else list(data_dirs)
    if checked_count(log_dirs, "log_dirs") < 1 or (log_dirs > 1 and len(folders) > 1):
        raise ValueError(f"log_dirs={log_dirs}: use a number from 1 on, and one folder as data_dir")
    if log_dirs > 1:
        folders = [f"{folders[0]}/disk{number}" for number in range(log_dirs)]
    if not folders:
        raise ValueError("data_dir names no folder")
    return DataFolders(tuple(folders))


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in text.split(","))))
