"""Check the history of a file: ``python -m pykcheck history.jsonl``; exit with 1 for anomalies."""

from __future__ import annotations

import sys

from . import check, read_history


def main(arguments: list[str]) -> int:
    """Print what is found in the files that are named."""
    if not arguments:
        print(__doc__)
        return 2
    sound = True
    for path in arguments:
        report = check(read_history(path))
        print(f"{path}\n{report}")
        sound = sound and report.is_sound
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
