"""The queue: uncategorized transactions of cash ledgers, each in a group.

A group has the transactions that one decision can categorize, and a kind:

- ``counterparty``: transactions of one counterparty, direction and account.
- ``transfer``: likely transfers between own accounts. Each has an equal and opposite transaction in the queue, on
  another account, within 7 days.
- ``split``: transactions with several categories, one of which is an uncategorized ledger.

The id of a group depends only on kind, counterparty, direction and account. So it is the same for another period, and
after other transactions were categorized. A new transaction joins the group that its counterparty, direction and
account already have. A transaction moves to a group of transfers when its other side is loaded too: because the other
side was booked later, the period is now longer, or the other account was left out before.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.column_conversion import (
    LIST_SEPARATOR,
    TEXT,
    are_among,
    exact_frame,
    local_midnights,
    negated,
    split_lists,
)
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.exact_sums import repeated_message, require_columns
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import parse_date
from accounting_analytics.core.schemas import Queue, QueueGroups
from accounting_analytics.reports.books.category_ledgers import uncategorized_ledgers
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.books.payees import TEXTS_OF_TRANSACTION, parties_of_open_items
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

    from accounting_analytics.core.column_conversion import ExactFrame
    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.value import Books, PeriodLike

KEY = ["transaction_id", "category_ledger_id"]
"""Columns whose values identify a row of a queue."""
KINDS = ("counterparty", "transfer", "split")
CLEARED_SHARE = 0.8
"""The note says how many of the largest groups reach this share of the uncategorized amount."""
TRANSFER_DAYS = 7
NO_DESCRIPTION = "(no description)"

_KEY_OF_GROUP = ["kind", "counterparty", "direction", "ledger_id", "counterpart_ledger_id"]
_MAX_SLUG = 20
_DIGEST = 6
_NEEDED = (
    "id",
    "ledger_id",
    "ledger_name",
    "journal_entry_id",
    "datetime",
    "debit_credit",
    "signed_amount",
    "transaction_id",
    "tag_ids",
)


def uncategorized_queue(
    books: Books,
    period: PeriodLike = None,
    *,
    inflow_ledger_id: str | None = None,
    outflow_ledger_id: str | None = None,
) -> pd.DataFrame:
    """List the uncategorized transactions, largest first.

    Parameters
    ----------
    books : Books
        The books. Where the lines of the uncategorized ledgers were loaded too, the uncategorized part of a split is
        exact.
    period : period-like, optional
        Days of the transactions; by default the period of the books.
    inflow_ledger_id, outflow_ledger_id : str, optional
        The uncategorized ledger of that direction, by id, unique name or path; by default it is detected among the
        required ledgers. An id that no ledger of the books has is noted.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Queue`, one row per transaction and uncategorized ledger. Amounts
        are positive for cash received and negative for cash paid, from the side of the line. ``uncategorized_amount``
        is the uncategorized part. Where that is not certain, because its line was not loaded or several transactions
        of one entry share it, it is the whole ``transaction_amount``. ``attrs["notes"]`` lists what could not be
        determined.

    Raises
    ------
    InputError
        An argument is of another type, or a given name is that of several ledgers.
    FrameError
        ``opposing_ledger_ids`` was not loaded, another column is missing, a line occurs more than once, or the ledger
        of a transaction is not among those of the books.
    """
    books = to_books(books)
    chart, days, names = books.chart, books.days_of(period), books.names
    exact = _exact_lines(books)
    lines = exact.frame
    uncategorized = uncategorized_ledgers(
        chart,
        inflow_ledger_id=names.find(inflow_ledger_id) if inflow_ledger_id in names else inflow_ledger_id,
        outflow_ledger_id=names.find(outflow_ledger_id) if outflow_ledger_id in names else outflow_ledger_id,
    )
    is_shown = lines["local_date"].dt.date.between(days.start_date, days.end_date)
    transactions = _cash_transactions(lines[is_shown], chart)
    opposed = _with_opposing(transactions)
    matching = opposed[opposed["category_ledger_id"].isin(uncategorized)].drop_duplicates(KEY).reset_index(drop=True)
    rows = _largest_first(_queue_columns(matching, lines, books.source.open_items))
    queue = Queue.from_exact(with_groups(rows), exact.scale)
    attach_notes(
        queue, (*books.own_notes, *exact.notes, *_notes(queue, transactions, names, uncategorized)), books.source.frame
    )
    return queue


def _exact_lines(books: Books) -> ExactFrame:
    """Read the lines with exact amounts and ``local_date``. Refuse repeated lines."""
    lines = books.source.in_pandas("the queue")
    if "opposing_ledger_ids" not in lines:
        raise FrameError("line_entries have no opposing_ledger_ids; load them with expand=('opposing_ledger_ids', ...)")
    require_columns(lines.columns, _NEEDED, "line_entries")
    ids = lines["id"]
    repeated = ids[ids.duplicated()].drop_duplicates()
    if len(repeated):
        raise FrameError(repeated_message(repeated.tolist()))
    exact = exact_frame(lines, ["signed_amount"], scale=books.scale)
    days = local_midnights(exact.frame["datetime"], books.time_zone)
    return exact._replace(frame=exact.frame.assign(local_date=days))


def exact_queue(queue: pd.DataFrame) -> ExactFrame:
    """Check a queue and make its amounts exact. Refuse repeated rows."""
    exact = Queue.exact(queue)
    ids = exact.frame["transaction_id"]
    repeated = ids[exact.frame.duplicated(KEY)].drop_duplicates()
    if len(repeated):
        raise FrameError(
            f"the queue has {count_of(len(repeated), 'transaction')} more than once: {join_ids(repeated)}; keep one "
            "row of each"
        )
    return exact


def categorized_transactions(books: Books, ledgers: pd.DataFrame) -> pd.DataFrame:
    """List the transactions that have exactly one category, as queue rows."""
    rows = transactions_with_categories(books, ledgers)
    no_category = uncategorized_ledgers(ledgers) | set(ledgers.loc[ledgers["report_cash_flow"], "id"])
    has_one = ~rows.index.duplicated(keep=False)
    return rows[has_one & ~rows["category_ledger_id"].isin(no_category)].reset_index(drop=True)


def transactions_with_categories(books: Books, ledgers: pd.DataFrame) -> pd.DataFrame:
    """List all transactions as queue rows, one for each opposing ledger.

    Rows of one transaction have the same label.
    """
    lines = _exact_lines(books).frame
    return _queue_columns(_with_opposing(_cash_transactions(lines, ledgers)), lines, books.source.open_items)


def _cash_transactions(line_entries: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Select the transactions of cash ledgers, with a new index."""
    transactions = line_entries[line_entries["transaction_id"].notna()]
    unknown = transactions.loc[~transactions["ledger_id"].isin(ledgers["id"]), "ledger_id"]
    if len(unknown):
        raise FrameError(
            f"ledgers do not contain {unknown.iloc[0]!r}, which has {count_of(len(unknown), 'transaction')}; discover "
            "the ledgers over the period of the line entries"
        )
    cash = ledgers.loc[ledgers["report_cash_flow"], "id"]
    return transactions[transactions["ledger_id"].isin(cash)].reset_index(drop=True)


def _with_opposing(transactions: pd.DataFrame) -> pd.DataFrame:
    """Repeat each transaction for each opposing ledger, its ``category_ledger_id``."""
    return transactions.join(split_lists(transactions["opposing_ledger_ids"]).rename("category_ledger_id"), how="inner")


def _queue_columns(matching: pd.DataFrame, line_entries: pd.DataFrame, open_items: Mapping[str, str]) -> pd.DataFrame:
    amount, side = matching["signed_amount"], matching["debit_credit"]
    parts = _uncategorized_parts(matching, line_entries)
    is_inflow = (amount > 0) | ((amount == 0) & (side == DebitCredit.DEBIT))
    descriptions = _descriptions(matching)
    of_entries = line_entries[are_among(line_entries["journal_entry_id"], matching["journal_entry_id"])]
    parties = parties_of_open_items(of_entries.sort_values("id", kind="stable"), open_items)
    own = zip(matching["journal_entry_id"], merchants(descriptions), strict=True)
    names = [parties.get(entry, name) or NO_DESCRIPTION for entry, name in own]
    return pd.DataFrame(
        {
            "transaction_id": matching["transaction_id"],
            "ledger_id": matching["ledger_id"],
            "ledger_name": matching["ledger_name"],
            "line_entry_id": matching["id"],
            "journal_entry_id": matching["journal_entry_id"],
            "datetime": matching["datetime"],
            "local_date": matching["local_date"],
            "uncategorized_amount": parts.fillna(amount),
            "uncategorized_is_certain": parts.notna(),
            "transaction_amount": amount,
            "direction": pd.Series("inflow", index=matching.index, dtype="str").where(is_inflow, "outflow"),
            "description": descriptions,
            "counterparty": pd.Series(names, matching.index, dtype="str"),
            "category_ledger_id": matching["category_ledger_id"],
            "opposing_ledger_ids": matching["opposing_ledger_ids"],
            "review_status": matching.get("transaction_review_status", pd.Series(None, matching.index, dtype="str")),
            "tag_ids": matching["tag_ids"],
        }
    )


def _largest_first(rows: pd.DataFrame) -> pd.DataFrame:
    order = ["transaction_amount", "datetime", *KEY]
    return rows.sort_values(order, ascending=[False, True, True, True], key=by_size, ignore_index=True)


def by_size(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the sort key of a column. Amounts are sorted without their signs."""
    return column.abs() if str(column.name).endswith("amount") else column


def _descriptions(lines: pd.DataFrame) -> pd.Series[Any]:
    """Take the first nonblank text of transaction, line or journal entry."""
    descriptions = pd.Series(None, index=lines.index, dtype="str")
    for name in TEXTS_OF_TRANSACTION:
        if name in lines:
            text = lines[name]
            descriptions = descriptions.fillna(text.where(text.str.strip() != ""))
    return descriptions.fillna("")


def _uncategorized_parts(matching: pd.DataFrame, line_entries: pd.DataFrame) -> pd.Series[Any]:
    """Sum the uncategorized part of each transaction. The sum is null if it is not certain."""
    category_lines = line_entries[line_entries["ledger_id"].isin(matching["category_ledger_id"])]
    totals = category_lines.groupby(["journal_entry_id", "ledger_id"])["signed_amount"].sum()
    keys = pd.MultiIndex.from_frame(matching[["journal_entry_id", "category_ledger_id"]])
    is_shared = matching.duplicated(["journal_entry_id", "category_ledger_id"], keep=False)
    return negated(totals.reindex(keys)).set_axis(matching.index).mask(is_shared)


def _notes(
    queue: pd.DataFrame, transactions: pd.DataFrame, names: LedgerNames, uncategorized: set[str]
) -> Iterator[str]:
    """Yield notes on why the queue may be incomplete."""
    if not uncategorized:
        yield (
            "No uncategorized ledger was found among these ledgers, so the queue is empty: either every transaction of "
            "the period has a category, or the ledgers cannot be recognized; then pass inflow_ledger_id and "
            "outflow_ledger_id."
        )
    for missing in sorted(uncategorized - names.ids):
        suggestion = names.suggestion(missing)
        hint = f" ({suggestion})" if suggestion else ""
        yield f"The given uncategorized ledger {missing} is not among these ledgers{hint}."
    if without_opposing := int(transactions["opposing_ledger_ids"].isna().sum()):
        yield (
            f"{count_of(without_opposing, 'transaction')} without opposing_ledger_ids: whether uncategorized is not "
            "known."
        )
    if unknown := set(split_lists(transactions["opposing_ledger_ids"])) - names.ids - uncategorized:
        yield (
            f"{count_of(len(unknown), 'opposing ledger')} of cash not among these ledgers, taken for categories: "
            f"{join_ids(unknown, limit=3)}."
        )
    if uncertain := int((~queue["uncategorized_is_certain"]).sum()):
        yield (
            f"The uncategorized part of {count_of(uncertain, 'transaction')} is not known: the lines of the "
            "uncategorized ledgers were not loaded, or several transactions of one entry share them; their whole "
            "amounts are listed."
        )


def local_days(rows: pd.DataFrame) -> pd.Series[Any]:
    """Return the local day of each row, else its instant in UTC."""
    instants = rows["datetime"].dt.tz_localize(None)
    return rows["local_date"].fillna(instants) if "local_date" in rows else instants


def with_groups(queue: pd.DataFrame, *, transfers: bool = True) -> pd.DataFrame:
    """Add ``kind``, ``counterpart_ledger_id`` and ``group_id`` to an exact queue."""
    is_split = queue["opposing_ledger_ids"].str.contains(LIST_SEPARATOR, regex=False)
    paired = _counterparts(queue[~is_split]) if transfers else {}
    counterparts = pd.Series(paired, dtype=TEXT).reindex(queue.index)
    kinds = pd.Series("counterparty", queue.index, dtype="str").mask(counterparts.notna(), "transfer")
    grouped = queue.assign(kind=kinds.mask(is_split, "split"), counterpart_ledger_id=counterparts)
    return grouped.assign(group_id=_group_ids(grouped))


def _counterparts(queue: pd.DataFrame) -> dict[Any, str]:
    """Map the label of each likely transfer's row to the other account."""
    by_size: dict[Decimal, list[tuple[pd.Timestamp, Any, str, bool]]] = defaultdict(list)
    ordered = queue.sort_values(["datetime", "transaction_id"], kind="stable")
    columns = (ordered[name] for name in ("datetime", "ledger_id", "transaction_amount"))
    for label, instant, ledger_id, amount in zip(ordered.index, *columns, strict=True):
        if amount:
            by_size[amount.copy_abs()].append((instant, label, ledger_id, amount > 0))
    found: dict[Any, str] = {}
    for rows in by_size.values():
        paid = [row for row in rows if not row[3]]
        received = [row for row in rows if row[3]]
        for (_, label, ledger_id, _), (_, other, other_ledger_id, _) in _pairs(paid, received):
            found |= {label: other_ledger_id, other: ledger_id}
    return found


def _pairs(paid: list[Any], received: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair payments with receipts of another account within 7 days, each once."""
    window = pd.Timedelta(days=TRANSFER_DAYS)
    for payment in paid:  # both lists are sorted by time
        start = bisect_left(received, payment[0] - window, key=lambda row: row[0])
        for position in range(start, len(received)):
            receipt = received[position]
            if receipt[0] - payment[0] > window:
                break
            if receipt[2] != payment[2]:
                yield payment, received.pop(position)
                break


def _group_ids(grouped: pd.DataFrame) -> pd.Series[Any]:
    """Make ids such as ``blue-bottle-coffee-3f2a91``.

    An id has the counterparty, and a digest of the group's key.
    """
    keys = grouped[_KEY_OF_GROUP].astype(object).where(grouped[_KEY_OF_GROUP].notna(), "")
    digests = {
        key: hashlib.sha256("\0".join(key).encode()).hexdigest()[:32]
        for key in dict.fromkeys(keys.itertuples(index=False, name=None))
    }
    short = {key: f"{_slug(*key[:2])}-{digest[:_DIGEST]}".lstrip("-") for key, digest in digests.items()}
    counts = pd.Series(list(short.values()), dtype="str").value_counts()
    ids = {
        key: group_id if counts[group_id] == 1 else f"{group_id}{digests[key][_DIGEST:]}"
        for key, group_id in short.items()
    }
    return pd.Series([ids[key] for key in keys.itertuples(index=False, name=None)], grouped.index, dtype="str")


def _slug(kind: str, counterparty: str) -> str:
    text = counterparty if kind == "counterparty" else f"{kind} {counterparty}"
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:_MAX_SLUG].rstrip("-")


def group_queue(queue: pd.DataFrame, *, as_of: DateLike | None = None) -> pd.DataFrame:
    """Group the queue by counterparty, direction and account, the largest amount first.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    as_of : date-like, optional
        Day at which ages are calculated; by default that of the newest transaction of the queue. Days are in UTC.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.QueueGroups`: groups of counterparties, then likely transfers between own
        accounts, then split transactions. ``amount`` is the exact sum of their ``uncategorized_amount``. If
        part of an entry was withheld, the amount that was paid is the ``transaction_amount`` of the queue, with which
        rules compare too. ``share`` is the part of a group in the uncategorized amount, without
        signs, and ``cumulative_share`` that of all groups up to this row. ``attrs["notes"]`` states how many decisions
        clear how much.

    Raises
    ------
    InputError
        `queue` is not a DataFrame, or `as_of` is not a day.
    FrameError
        `queue` is not a valid queue, or has a transaction more than once.
    """
    exact = exact_groups(queue, as_of)
    table = QueueGroups.from_exact(exact.frame, exact.scale)
    attach_notes(table, exact.notes, queue)
    return table


def exact_groups(queue: pd.DataFrame, as_of: DateLike | None = None) -> ExactFrame:
    """Group the queue with exact amounts and notes."""
    exact = exact_queue(queue)
    groups = _sum_groups(_largest_first(exact.frame))  # described by the largest transaction
    newest = exact.frame["datetime"].dt.normalize().max()
    day = newest if as_of is None else pd.Timestamp(parse_date(as_of, "as_of"), tz="UTC")
    for age, instant in (("age_days", "first_datetime"), ("newest_age_days", "last_datetime")):
        groups[age] = (day - groups[instant].dt.normalize()).dt.days.astype("int64")
    shared = _with_shares(groups, exact.scale)[[*QueueGroups.dtypes()]]
    return exact._replace(frame=shared, notes=(*exact.notes, *_notes_of_groups(shared)))


def _sum_groups(grouped: pd.DataFrame) -> pd.DataFrame:
    """Sum each group, with the description of its first row."""
    names = dict(zip(grouped["ledger_id"], grouped["ledger_name"], strict=True))
    counterparts = grouped["counterpart_ledger_id"].map(names, na_action="ignore").astype(TEXT)
    groups = grouped.assign(counterpart_ledger_name=counterparts).groupby("group_id", sort=False)
    return groups.agg(
        kind=("kind", "first"),
        counterparty=("counterparty", "first"),
        direction=("direction", "first"),
        ledger_id=("ledger_id", "first"),
        ledger_name=("ledger_name", "first"),
        counterpart_ledger_name=("counterpart_ledger_name", "first"),
        transaction_count=("transaction_id", "nunique"),
        amount=("uncategorized_amount", "sum"),
        first_datetime=("datetime", "min"),
        last_datetime=("datetime", "max"),
        description=("description", "first"),
    ).reset_index()


def _with_shares(groups: pd.DataFrame, scale: int) -> pd.DataFrame:
    """Sort the groups, and add their shares of the whole amount."""
    order = ["rank", "amount", "group_id"]
    ordered = groups.assign(rank=groups["kind"].map(KINDS.index)).sort_values(
        order, ascending=[True, False, True], key=by_size, ignore_index=True
    )
    sizes = [abs(to_minor_units(amount, scale)) for amount in ordered["amount"]]
    whole = sum(sizes) or 1
    return ordered.assign(
        share=[size / whole for size in sizes], cumulative_share=[size / whole for size in accumulate(sizes)]
    )


def _notes_of_groups(groups: pd.DataFrame) -> Iterator[str]:
    decidable = groups[groups["kind"] == "counterparty"]
    if len(decidable):
        reached = decidable["cumulative_share"]
        count = min(int((reached < CLEARED_SHARE).sum()) + 1, len(decidable))
        share = reached.iloc[count - 1]
        rest = "; the rest is likely transfers and split transactions" if share < CLEARED_SHARE else ""
        clearing = count_of(count, "decision clears", "decisions clear")
        yield f"{clearing} {int(100 * share)} % of the uncategorized amount{rest}."
    counts = groups.groupby("kind")["transaction_count"].sum()
    if "transfer" in counts:
        yield (
            f"{count_of(counts['transfer'], 'likely transfer')} between own accounts: equal and opposite "
            f"amounts on two accounts within {TRANSFER_DAYS} days."
        )
    if "split" in counts:
        yield f"{count_of(counts['split'], 'split transaction')}, listed apart and not decided by group."
