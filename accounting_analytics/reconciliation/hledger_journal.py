"""A journal for hledger, which sums it again: its accounts, and one transaction for each journal entry."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload
from urllib.parse import quote

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.errors import FrameError, IncompleteLoadError
from accounting_analytics.core.exact_sums import ExactLines, collect, null_message, wrap
from accounting_analytics.core.load_metadata import (
    loaded_period,
    missing_reasons,
    read_load_metadata,
    states_all_lines,
)
from accounting_analytics.core.messages import count_of, join_ids, printable
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.reports.ledger_tree import LedgerTree
from accounting_analytics.reports.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.zone_of_lines import zone_of_lines

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.core.periods import ZoneLike


CASH_TYPE = "C"
TYPE_LETTERS: Mapping[str, str] = {
    LedgerType.ASSET: "A",
    LedgerType.LIABILITY: "L",
    LedgerType.EQUITY: "E",
    LedgerType.REVENUE: "R",
    LedgerType.EXPENSE: "X",
}
"""Types of accounts as hledger names them; an asset that reports cash flow is `CASH_TYPE`."""
_SEPARATORS = re.compile("[:;]")
_SPECIAL_FIRST = ("*", "!", "(", "[")
"""What hledger reads as a status or as an account that need not balance, if a posting begins with it."""
_ID_CHARACTERS = "-_.~/@+="


def account_names(tree: LedgerTree) -> dict[str, str]:
    """Account of each ledger: a path that hledger reads as one account, and that no other ledger has in any case."""
    children: dict[str | None, list[str]] = {}
    for ledger_id in tree.ordered:
        parent = tree.hierarchy.parent(ledger_id)
        children.setdefault(parent if parent in tree.names else None, []).append(ledger_id)
    roots = {one: _guarded(_account_part(tree.names[one]) or encoded(one)) for one in children.get(None, ())}
    accounts = _unique_names(roots)
    pending = list(accounts)
    for parent in pending:
        names = {one: _account_part(tree.names[one]) or encoded(one) for one in children.get(parent, ())}
        accounts |= {one: f"{accounts[parent]}:{name}" for one, name in _unique_names(names).items()}
        pending.extend(names)
    return accounts


def _unique_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names of siblings by id, followed by the id where another has the same in upper or lower case."""
    counts = Counter(map(_caseless, names.values()))
    taken = {key for key, count in counts.items() if count == 1}
    unique = dict(names)
    for ledger_id, name in names.items():
        if counts[_caseless(name)] > 1:
            unique[ledger_id] = f"{name} {encoded(ledger_id)}"
            while _caseless(unique[ledger_id]) in taken:
                unique[ledger_id] += "_"
            taken.add(_caseless(unique[ledger_id]))
    return unique


def _account_part(name: str) -> str:
    """Name of a ledger without what separates accounts, comments and amounts."""
    return " ".join(printable(_SEPARATORS.sub("-", name), " ").split())


def _guarded(root: str) -> str:
    """Name of a root that hledger does not take for a status or for an account that need not balance."""
    return f"_{root}" if root.startswith(_SPECIAL_FIRST) else root


def _caseless(name: str) -> str:
    """Text that is the same for all names that a query of hledger, which ignores case, may not distinguish."""
    return name.casefold().upper().casefold()


def encoded(text: str) -> str:
    """Id as one word without a character that has a meaning in a journal."""
    return quote(text, safe=_ID_CHARACTERS)


def account_types(ledgers: Any, cash: Collection[str]) -> dict[str, str]:  # noqa: ANN401 (any frame narwhals knows)
    """Letter of the type of each ledger that has one."""
    frame = wrap(ledgers, "ledgers", ("id", "type"))
    if "type" not in frame.collect_schema():
        return dict.fromkeys(cash, CASH_TYPE)
    rows = collect(frame.select("id", "type")).to_pylist()
    letters = {row["id"]: TYPE_LETTERS[row["type"]] for row in rows if row["type"] in TYPE_LETTERS}
    asset = TYPE_LETTERS[LedgerType.ASSET]
    return letters | {one: CASH_TYPE for one in cash if letters.get(one, asset) == asset}


_DESCRIPTIONS = ("transaction_description", "description")
"""Texts of lines that describe an entry without a description, the first one that is there."""


@overload
def export_journal(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    path: None = None,
    *,
    time_zone: ZoneLike | None = None,
    scale: int | None = None,
) -> str: ...
@overload
def export_journal(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    path: str | Path,
    *,
    time_zone: ZoneLike | None = None,
    scale: int | None = None,
) -> None: ...
def export_journal(
    line_entries: Any,
    ledgers: Any = None,
    path: str | Path | None = None,
    *,
    time_zone: ZoneLike | None = None,
    scale: int | None = None,
) -> str | None:
    """Write line entries as a journal of hledger, which other programs of plain text accounting read too.

    Each journal entry is one transaction, dated by its first line; a posting on a later local day has that day in its
    tag ``date``. Debits are positive, and each amount has all its digits. Accounts are the paths of the ledgers, such
    as ``Expenses:Rent``, declared with their type (``C`` for an asset that reports cash flow). In a name ``:`` and
    ``;`` become ``-``, control characters and several spaces become one space, and a root that begins with ``*``,
    ``!``, ``(`` or ``[`` is preceded by ``_``; siblings with the same name, also in another case, are followed by
    their ids. Ids are in the tags ``ledger_id``, ``id`` and in the code of the transaction, with the characters of
    URLs: any character but letters, digits and ``-_.~/@+=`` is percent-encoded.

    Parameters
    ----------
    line_entries : DataFrame, pyarrow.Table, polars frame, DuckDB relation, PySpark frame or Books
        :class:`~accounting_analytics.schemas.LineEntries`, all lines of each journal entry.
    ledgers : DataFrame or any of the others
        The chart of accounts (None: that of the local books).
    path : str or Path, optional
        The file, which is replaced completely or left unchanged; without it the text is returned, as by ``to_csv`` of
        pandas.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load, else that of the ledgers if every ``local_date`` is
        a day of it.
    scale : int, optional
        Fraction digits of the amounts; by default those of a decimal type, else those that the load states, else 2.

    Returns
    -------
    str or None
        The journal, if there is no `path`. Its first lines are comments: the days, and what is known to be missing.

    Raises
    ------
    IncompleteLoadError
        Entries do not balance, because lines are missing; hledger would refuse them.
    FrameError
        A column is missing, contains nulls or has the wrong type, a ledger is not in `ledgers`, or a line occurs more
        than once.
    InputError
        The file cannot be written.
    """
    journal = HledgerJournal.from_frames(line_entries, ledgers, time_zone=time_zone, scale=scale)
    if path is None:
        return journal.text()
    write_text(to_path(path, "path"), journal.text())
    return None


class Posting(NamedTuple):
    """A line as a posting: its id, ledger, local day and signed units."""

    line_id: str
    ledger_id: str
    day: dt.date
    units: int


class JournalTransaction(NamedTuple):
    """A journal entry as a transaction: its id, description, and postings in the order of their instants."""

    entry_id: str
    description: str
    postings: list[Posting]


class HledgerJournal(NamedTuple):
    """What a journal is written from.

    Attributes
    ----------
    tree : LedgerTree
        The chart of accounts.
    accounts : dict of str to str
        Account of each ledger, by id.
    types : dict of str to str
        Letter of the type of each ledger, where the type is known.
    transactions : list of JournalTransaction
        In the order of their first lines.
    scale : int
        Fraction digits of the amounts.
    comments : tuple of str
        What the journal contains, and what is missing.
    notes : tuple of str
        What was assumed or normalized, and the age of local books.
    """

    tree: LedgerTree
    accounts: dict[str, str]
    types: dict[str, str]
    transactions: list[JournalTransaction]
    scale: int
    comments: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def from_frames(
        cls,
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
        *,
        time_zone: ZoneLike | None = None,
        scale: int | None = None,
    ) -> Self:
        """Read line entries and their chart of accounts, and refuse entries that do not balance."""
        line_entries, ledgers = lines_of(line_entries), ledgers_of(line_entries, ledgers)
        day_zone = zone_of_lines(line_entries, ledgers, time_zone).name
        tree, exact = LedgerTree.from_frame(ledgers), ExactLines.from_frame(line_entries, scale)
        rows = _rows(line_entries, exact)
        tree.require({row["ledger_id"] for row in rows})
        transactions = _transactions(rows, exact, day_zone)
        _require_balanced(transactions)
        types = account_types(ledgers, tree.cash)
        comments = (f"Days in {day_zone}; debits are positive.", *_contents(line_entries))
        return cls(tree, account_names(tree), types, transactions, exact.scale, comments, exact.notes)

    def text(self) -> str:
        """Write the journal."""
        return (
            "\n".join([*(f"; {printable(one, ' ')}" for one in (*self.comments, *self.notes)), *self._lines()]) + "\n"
        )

    def _lines(self) -> Iterator[str]:
        yield from ("", "decimal-mark .", "")
        for ledger_id in self.tree.ordered:
            letter = self.types.get(ledger_id)
            tags = [*([f"type: {letter}"] if letter else []), f"ledger_id: {encoded(ledger_id)}"]
            yield f"account {self.accounts[ledger_id]}  ; {', '.join(tags)}"
        for entry_id, description, postings in self.transactions:
            first = postings[0].day
            yield ""
            yield f"{first} ({encoded(entry_id)}) {description}".rstrip()
            for line_id, ledger_id, day, units in postings:
                own_day = "" if day == first else f", date: {day}"
                amount = f"{from_minor_units(units, self.scale):f}"
                yield f"    {self.accounts[ledger_id]}    {amount}  ; id: {encoded(line_id)}{own_day}"


def _rows(line_entries: Any, exact: ExactLines) -> list[dict[str, Any]]:  # noqa: ANN401 (any frame narwhals knows)
    """Lines in the order of their instants, each with the description of its entry."""
    rows = collect(exact.lines).to_pylist()
    for name in ("id", "ledger_id", "journal_entry_id", "datetime"):
        if any(row[name] is None for row in rows):
            raise FrameError(null_message("line_entries", name))
    if not states_all_lines(line_entries) and len({row["id"] for row in rows}) < len(rows):
        repeated = [line_id for line_id, count in Counter(row["id"] for row in rows).items() if count > 1]
        raise FrameError(f"line_entries: a line entry id occurs more than once: {join_ids(repeated)}")
    texts = {}
    if any(not row["journal_entry_description"] for row in rows):
        texts = {row["id"]: next(filter(None, map(row.get, _DESCRIPTIONS)), "") for row in _texts(line_entries)}
    for row in rows:
        row["text"] = row["journal_entry_description"] or texts.get(row["id"], "")
    return sorted(rows, key=lambda row: (row["datetime"], row["id"]))


def _texts(line_entries: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (any frame narwhals knows)
    """Ids of the lines, and the texts that describe them."""
    columns = ("id", *_DESCRIPTIONS)
    frame = wrap(line_entries, "line_entries", columns)
    schema = frame.collect_schema()
    texts: list[dict[str, Any]] = collect(frame.select(*(one for one in columns if one in schema))).to_pylist()
    return texts


def _transactions(rows: list[dict[str, Any]], exact: ExactLines, time_zone: str) -> list[JournalTransaction]:
    """Put the lines of each entry together, in the order of the first ones."""
    days = zone(time_zone)
    by_entry: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_entry.setdefault(row["journal_entry_id"], []).append(row)
    transactions = []
    for entry_id, lines in by_entry.items():
        postings = [
            Posting(row["id"], row["ledger_id"], local_date(row["datetime"], days), exact.to_units(row["units"]))
            for row in lines
        ]
        text = printable(next(filter(None, (row["text"] for row in lines)), ""), " ")
        transactions.append(JournalTransaction(entry_id, " ".join(text.replace(";", ",").split()), postings))
    return transactions


def _require_balanced(transactions: list[JournalTransaction]) -> None:
    open_entries = [one.entry_id for one in transactions if sum(posting.units for posting in one.postings)]
    if open_entries:
        raise IncompleteLoadError(
            f"{count_of(len(open_entries), 'journal entry does', 'journal entries do')} not balance, so lines "
            f"are missing and hledger would refuse the journal: {join_ids(open_entries)}; load the lines of every "
            "ledger, nothing was written"
        )


def _contents(line_entries: Any) -> Iterator[str]:  # noqa: ANN401 (any frame narwhals knows)
    """Say which lines a load has, and what is missing."""
    metadata = read_load_metadata(line_entries)
    if metadata is None:
        return
    loaded = loaded_period(metadata)
    yield f"Line entries of {loaded.start_date} to {loaded.end_date}."
    for name, value in metadata["filters"].items():
        yield f"Only lines with {name}={value} were loaded."
    yield from (f"PARTIAL: {reason}." for reason in missing_reasons(line_entries, loaded, history=False))
