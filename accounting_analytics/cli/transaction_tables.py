"""Tables of transactions for people: names before ids, local times, one line that counts them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import typer

from accounting_analytics.cli.output import print_first_rows
from accounting_analytics.messages import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

_TIME_FORMAT = "%Y-%m-%d %H:%M"
_MAX_NAMES = 5


def print_transactions(
    frame: pd.DataFrame, columns: dict[str, str], *, summary: str, time_zone: str, limit: int | None
) -> None:
    """Print a summary and the first rows of a table with the column ``datetime``, in local time.

    ``localtime`` is the zone of the service, which is not known here, so its times stay in UTC.
    """
    from accounting_analytics.periods import LOCALTIME, zone

    name = "UTC" if time_zone == LOCALTIME else time_zone
    times = frame["datetime"].dt.tz_convert(zone(name)).dt.strftime(_TIME_FORMAT)
    typer.echo(f"{summary}; times are {name}" if len(frame) else summary)
    print_first_rows(frame.assign(datetime=times), {"datetime": "time", **columns}, limit)


def queue_tables(
    groups: pd.DataFrame, transactions: pd.DataFrame, suggestions: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Return groups and transactions of a queue, and suggestions if there can be any, as JSON has them."""
    shares = {"share": object, "cumulative_share": object}  # not amounts
    tables = {"groups": groups.astype(shares), "transactions": transactions}
    return tables if suggestions is None else tables | {"suggestions": suggestions.astype({"confidence": object})}


def count_transactions(rows: pd.DataFrame) -> int:
    """Count the transactions of a queue or of proposals; one with two uncategorized parts has two rows."""
    return rows["transaction_id"].nunique()


def count_names(names: Iterable[str]) -> str:
    """Count names, most frequent first: ``12 Meals, 3 Rent and 4 in 2 more``."""
    counts = Counter(names).most_common()
    listed = ", ".join(f"{count:,} {shorten(printable(name), limit=30)}" for name, count in counts[:_MAX_NAMES])
    others = counts[_MAX_NAMES:]
    return f"{listed} and {sum(count for _, count in others):,} in {len(others)} more" if others else listed
