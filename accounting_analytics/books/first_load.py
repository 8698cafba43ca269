"""The first load of local books: all days of all ledgers, which continues where an earlier try was interrupted."""

from __future__ import annotations

import datetime as dt
import shutil
from typing import TYPE_CHECKING, Self

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds

from accounting_analytics.atomic_files import write_text
from accounting_analytics.errors import CheckpointError, InputError, InvalidRequestError
from accounting_analytics.loader.line_entries import load_line_entries_to_parquet
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.load_metadata import Discovery

_FIRST_DAY = dt.date(1, 1, 1)
_REQUEST = "request.json"
_DAY = dt.timedelta(days=1)
_MIDNIGHT = dt.time.min


class FirstLoad(msgspec.Struct, frozen=True):
    """What the first load reads; `reaches_back` is whether no ledger has an earlier line."""

    start_date: str
    end_date: str
    time_zone: str
    ledger_ids: list[str]
    reaches_back: bool

    @classmethod
    def begin(
        cls, folder: Path, ledger_ids: Iterable[str], discovery: Discovery, start: dt.date | None, days_until: Period
    ) -> Self:
        """Return the load that an earlier try began, if it has the same first day and zone, else begin one."""
        path, end, time_zone = folder / _REQUEST, days_until.end_date, days_until.time_zone
        try:
            begun = msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError:
            begun = None
        except (OSError, msgspec.MsgspecError) as error:
            raise CheckpointError(f"{path} cannot be read ({error}); delete its folder, and sync again") from error
        if begun and begun.time_zone == time_zone and (start is None or begun.start_date == str(start)):
            return begun
        if begun:
            shutil.rmtree(folder)
        first, accepted = min(discovery.first_day or end, end), discovery.accepted.start_date
        if start is None and accepted != _FIRST_DAY:
            raise InputError(
                f"the service refuses days before {accepted}, so the first day of the books is not known: give it as "
                "start_date"
            )
        reaches_back = accepted == _FIRST_DAY and (start is None or start <= first)
        begun = cls(str(start or first.replace(day=1)), str(end), time_zone, list(ledger_ids), reaches_back)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, msgspec.json.encode(begun).decode())
        return begun

    @property
    def period(self) -> Period:
        """The days that it reads."""
        return Period(self.start_date, self.end_date, self.time_zone)

    def read(self, folder: Path, client: LedgerClient, *, progress: bool | None) -> ds.Dataset:
        """Load all lines into one file of the folder, with their local dates."""
        loaded = load_line_entries_to_parquet(
            client,
            self.ledger_ids,
            self.start_date,
            self.end_date,
            folder / "lines.parquet",
            time_zone=self.time_zone,
            checkpoint=folder / "windows",
            progress=progress,
        )
        return ds.dataset(loaded.path)


def by_month(lines: ds.Dataset, period: Period) -> Iterator[tuple[Period, pa.Table]]:
    """Lines of each month of a period; one month is in memory at a time, because the file is ordered by days."""
    day = ds.field("local_date")
    for month in period.months():
        first, last = (
            pa.scalar(dt.datetime.combine(one, _MIDNIGHT), pa.timestamp("us"))
            for one in (month.start_date, month.end_date)
        )
        yield month, lines.to_table(filter=(day >= first) & (day <= last)).drop_columns("local_date")


def has_lines_before(client: LedgerClient, ledger_ids: Iterable[str], first: dt.date, time_zone: str) -> bool:
    """Whether any ledger has a line before a day; the books then begin earlier, as they do if that is refused."""
    if first == _FIRST_DAY:
        return False
    days = (_FIRST_DAY, first - _DAY)
    lines = (client.iter_line_entries(one, *days, time_zone=time_zone, limit=1) for one in ledger_ids)
    try:
        return any(True for of_ledger in lines for _ in of_ledger)
    except InvalidRequestError:
        return True
