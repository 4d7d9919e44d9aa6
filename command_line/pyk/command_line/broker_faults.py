"""``pyk broker --faults``: read a file of faults."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.reference_broker.fault_document import FaultDocumentError, line_of, set_faults
from pyk.reference_broker.faults import FaultRules


def read_faults(path: str, rules: FaultRules) -> None:
    """Set the faults of a file, JSON if it is called ``.json``, otherwise TOML."""
    try:
        text = Path(path).read_text("utf-8")
        is_json = path.endswith(".json")
        set_faults(rules, json.loads(text) if is_json else tomllib.loads(text))
    except OSError as error:
        raise _wrong(f"--faults: cannot read {path!r}: {error.strerror}") from error
    except FaultDocumentError as error:
        line = None if is_json else line_of(error, text)
        where = path if line is None else f"{path}, line {line}"
        raise _wrong(f"--faults: {where}: {error}") from error
    except ValueError as error:  # of both parsers, and of text that is not UTF-8
        raise _wrong(f"--faults: {path} cannot be parsed: {error}") from error


def _wrong(message: str) -> CommandError:
    return CommandError(message, ExitCode.USAGE)
