"""Show progress, rates, the counts side by side, and a small chart in the terminal."""

from __future__ import annotations

from rich.bar import Bar
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from examples.journey.comparison import Comparison
from examples.journey.text import Counts

SHOWN_PACKAGES = 12

NEXT_STEPS = """
[bold]Where to go next[/bold]
  your own text     make demo DEMO="--input FILE"     (or - for standard input)
  the guide         docs/README.md
  a broker to use   .venv/bin/pyk broker
"""


def make_progress(console: Console) -> Progress:
    name = TextColumn("{task.description:<10}")
    return Progress(name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console)


def show_counts(console: Console, direct: Counts, consumed: Counts, spark: Counts) -> None:
    """Show the largest packages, counted in three ways, with a bar for their lines."""
    table = Table(title="Lines (and words) per package", title_justify="left")
    table.add_column("package")
    for name in ("directly", "by the group", "by Spark"):
        table.add_column(name, justify="right")
    table.add_column("")
    largest = sorted(direct, key=lambda package: direct[package].lines, reverse=True)
    top = direct[largest[0]].lines if largest else 0
    for package in largest[:SHOWN_PACKAGES]:
        cells = [_cell(counts, package) for counts in (direct, consumed, spark)]
        table.add_row(package, *cells, Bar(top, 0, direct[package].lines, width=24))
    console.print(table)
    if len(largest) > SHOWN_PACKAGES:
        console.print(f"… and {len(largest) - SHOWN_PACKAGES} more packages, compared as well")


def show_rates(console: Console, rates: dict[str, tuple[int, float]]) -> None:
    for name, (records, seconds) in rates.items():
        rate = f"{records / seconds:>9,.0f} records/s"
        console.print(f"  {name:<22}{records:>9,} records in {seconds:5.1f} s {rate}")


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Show the missing and duplicated records, or that there are none."""
    if comparison.is_clean:
        console.print("[green]All three counts are equal: none lost, none twice.[/green]")
        console.print(NEXT_STEPS)
        console.print(str(comparison), highlight=False, soft_wrap=True)
        return
    for fault in comparison.faults:
        console.print(f"[red]{fault}[/red]", highlight=False)
    console.print(
        f"[red]The counts differ: {comparison.lost} lost, {comparison.duplicated} too many.[/red]"
    )


def _cell(counts: Counts, package: str) -> str:
    count = counts.get(package)
    return f"{count.lines:,} ({count.words:,})" if count else "-"
