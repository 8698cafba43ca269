"""How a run changed the cash flow report: before, as predicted and after, with the cause of every difference."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal, localcontext
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import InputError
from accounting_analytics.frame_columns import LIST_SEPARATOR, split_lists, total
from accounting_analytics.json_text import to_json_text
from accounting_analytics.messages import fit_terminal, join_ids, printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.recategorization.outcomes import IN_BOOKS, require_outcomes_of
from accounting_analytics.recategorization.plan import require_plan
from accounting_analytics.schemas import ReportChanges, ReportDifferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization.plan import Plan, PlanItem

_NOT_SENT = {"would_change": "not_done", "changed_elsewhere": "not_done"}
_ITEM_CAUSES = frozenset({"not_done", "refused", "unknown"})
_MAX_ROWS = 50
_MAX_IDS = 3
_CAUSES = {
    "not_done": "{count} item(s) are not done ({ids})",
    "refused": "{count} item(s) were refused ({ids})",
    "unknown": "{count} item(s) are unknown and may still be carried out ({ids})",
    "changed_elsewhere": "another user changed {count} journal entry(ies) ({ids})",
    "new_entry": "{count} new journal entry(ies) ({ids})",
    "missing_entry": "{count} journal entry(ies) no longer in the report ({ids})",
    "balance_changed": "recategorizing cannot change it; another user posted, changed or deleted entries",
    "not_shown": "the lines of the reports do not show why",
}
_TITLES = {
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "starting_balance": "starting balance of {ledger_name}",
    "ending_balance": "ending balance of {ledger_name}",
    "net_cash_flow": "net cash flow of {ledger_name}",
}


@dataclass(frozen=True, repr=False)
class ReportChange:
    """Result of :func:`compare_report_change`.

    Parameters
    ----------
    period : Period
        The period of both reports.
    changes : DataFrame
        :class:`~accounting_analytics.schemas.ReportChanges`: each ledger that changed, or was predicted to.
    differences : DataFrame
        :class:`~accounting_analytics.schemas.ReportDifferences`: what differs from the prediction, and why.
    """

    period: Period
    changes: pd.DataFrame
    differences: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """The changes."""
        return self.changes

    @property
    def as_predicted(self) -> bool:
        """Whether every figure is exactly as predicted."""
        return self.differences.empty

    @property
    def unexpected(self) -> pd.DataFrame:
        """The differences that are not items of the plan that are not in the books: what else changed."""
        return self.differences[~self.differences["cause"].isin(_ITEM_CAUSES)]

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def summary(self) -> str:
        """One line: how many ledgers changed, and whether all figures are as predicted."""
        exact = ReportChanges.exact(self.changes).frame
        changed = int((exact["before"] != exact["after"]).sum())
        return f"Cash flow report, {self.period}: {changed:,} ledger(s) changed; {self._verdict()}."

    def explain(self) -> str:
        """Plain text: the summary, each ledger before, predicted and after, each difference and its cause."""
        changes = [
            f"- {row['name']}: {format_amount(row['before'])} before, {format_amount(row['predicted'])} predicted, "
            f"{format_amount(row['after'])} after"
            for row in ReportChanges.exact(self.changes).frame.to_dict("records")
        ]
        differences = [f"- {reason}" for reason in self.reasons()]
        blocks = ([self.summary()], changes, differences)
        return "\n\n".join("\n".join(map(printable, block)) for block in blocks if block)

    def reasons(self) -> list[str]:
        """One sentence for each figure and cause of the differences, balances first."""
        return reasons(self.differences)

    def to_json(self) -> str:
        """JSON text of the result; amounts are strings."""
        return to_json_text(
            {
                "start_date": self.period.start_date,
                "end_date": self.period.end_date,
                "time_zone": self.period.time_zone,
                "as_predicted": self.as_predicted,
                "changes": ReportChanges.exact(self.changes).frame,
                "differences": ReportDifferences.exact(self.differences).frame,
            }
        )

    def _verdict(self) -> str:
        if self.as_predicted:
            return "every figure is as predicted, to the last digit"
        figures = self.differences[["what", "ledger_id"]].drop_duplicates()
        return f"{len(figures):,} figure(s) differ from the prediction"

    def _repr_html_(self) -> str:
        exact = ReportChanges.exact(self.changes).frame
        amounts = ["before", "predicted", "after"]
        first = exact.head(_MAX_ROWS)
        printed = first.assign(**{name: [format_amount(amount) for amount in first[name]] for name in amounts})
        table = printed[["name", *amounts]].to_html(index=False, escape=True)
        more = f"<p>{len(first):,} of {len(exact):,} ledgers; .frame has all</p>" if len(first) < len(exact) else ""
        listed = "".join(f"<li>{escape(printable(reason))}</li>" for reason in self.reasons()[:_MAX_ROWS])
        return f"<p><strong>{escape(self.summary())}</strong></p>{table}{more}{f'<ul>{listed}</ul>' if listed else ''}"


def reasons(differences: pd.DataFrame) -> list[str]:
    """One sentence for each figure and cause of :class:`~accounting_analytics.schemas.ReportDifferences`."""
    exact = ReportDifferences.exact(differences).frame
    grouped = exact.fillna({"ledger_id": ""}).groupby(["what", "ledger_id", "cause"], sort=False)
    return [_reason(rows) for _, rows in grouped]


def compare_report_change(
    plan: Plan, before: CashFlowReport, after: CashFlowReport, *, outcomes: pd.DataFrame | None = None
) -> ReportChange:
    """Compare the report after a run with the one that the plan predicts when all its items are applied.

    Parameters
    ----------
    plan : Plan
        The plan that was applied.
    before, after : CashFlowReport
        The same period, untagged.
    outcomes : DataFrame, optional
        Result of :func:`apply_plan` or :func:`verify_plan`: says why an item is not in the books.

    Returns
    -------
    ReportChange
        ``as_predicted`` if every figure is equal; else ``differences`` has the cause of each: items that are not done,
        what another user changed, new entries. ``unexpected`` has those that are not outcomes of items;
        :func:`verify_report_change` raises for them.

    Raises
    ------
    InputError
        An argument is of another type, the reports are of different periods or filtered by tags, or the outcomes
        belong to another plan.
    """
    require_plan(plan)
    require_report(before, "before")
    require_report(after, "after")
    if before.period != after.period or before.tag_ids or after.tag_ids:
        msg = f"both reports must cover one period and be untagged, not {before.period} and {after.period}"
        raise InputError(msg)
    states = None if outcomes is None else require_outcomes_of(plan, outcomes)["outcome"].tolist()
    as_decimals = before.as_decimals
    before, after = before.exact(), after.exact()
    ledgers = _ledger_changes(plan, before, after)
    entries = _Entries(plan.items, states, before, after)
    differences = [*_balance_differences(before, after), *_flow_differences(ledgers, entries)]
    return ReportChange(
        before.period,
        ReportChanges.from_columns(
            _columns([row for row in ledgers if len({*row[2:]}) > 1], ReportChanges.dtypes()),
            before.scale,
            as_decimals=as_decimals,
        ),
        ReportDifferences.from_columns(
            _columns(differences, ReportDifferences.dtypes()), before.scale, as_decimals=as_decimals
        ),
    )


class _LedgerChange(NamedTuple):
    """Net cash flow of a ledger before, predicted and after."""

    ledger_id: str
    name: str
    before: Decimal
    predicted: Decimal
    after: Decimal


class _Difference(NamedTuple):
    """One row of :class:`~accounting_analytics.schemas.ReportDifferences`."""

    what: str
    ledger_id: str | None
    ledger_name: str | None
    journal_entry_id: str | None
    transaction_ids: str | None
    difference: Decimal
    cause: str


class _Entries:
    """Cash flow by journal entry and ledger: before, as predicted, as far as the items are done, and after.

    Parameters
    ----------
    items : list of PlanItem
        The items of the plan.
    states : list of str or None
        Their outcomes, where known.
    before, after : CashFlowReport
        The reports.
    """

    def __init__(
        self, items: Sequence[PlanItem], states: Sequence[str] | None, before: CashFlowReport, after: CashFlowReport
    ) -> None:
        self._items: dict[str, list[PlanItem]] = defaultdict(list)
        for item in items:
            self._items[item.journal_entry_id].append(item)
        self._states = {} if states is None else dict(zip(items, states, strict=True))
        self._open = {item for item, state in self._states.items() if state not in IN_BOOKS}
        self._before = _entry_flows(before, [])
        self._after = _entry_flows(after, [])
        self._predicted = _entry_flows(before, items)
        self._completed = _entry_flows(before, [item for item in items if item not in self._open])

    def differences(self) -> Iterator[tuple[str, str, Decimal, str]]:
        """Entry, ledger, difference from the prediction, and cause."""
        for entry in self._before | self._after:
            was, now = self._predicted.get(entry, {}), self._after.get(entry, {})
            if was != now:
                cause = self._cause(entry)
                for ledger_id in was | now:
                    if difference := _subtract(now.get(ledger_id), was.get(ledger_id)):
                        yield entry, ledger_id, difference, cause

    def transaction_ids(self, entry: str) -> str | None:
        """Transactions of the plan in an entry that are not done, or all of them; None where it has none."""
        items = self._items.get(entry, [])
        ids = [item.transaction_id for item in items if item in self._open] or [item.transaction_id for item in items]
        return LIST_SEPARATOR.join(dict.fromkeys(ids)) or None

    def _cause(self, entry: str) -> str:
        if entry not in self._before:
            return "new_entry"
        if entry not in self._after:
            return "missing_entry"
        items = self._items.get(entry, [])
        states = [self._states[item] for item in items if item in self._open]
        if states and self._after[entry] == self._completed[entry]:
            return _NOT_SENT.get(states[0], states[0])
        if items and not self._states and self._after[entry] == self._before[entry]:
            return "not_done"
        return "changed_elsewhere"


def _ledger_changes(plan: Plan, before: CashFlowReport, after: CashFlowReport) -> list[_LedgerChange]:
    """Every ledger of the reports and of the plan, the largest predicted decrease first."""
    planned = {item.updated_category_ledger_id: item.updated_category_ledger_name for item in plan.items}
    changes = plan.predicted_changes(before)
    names = {ledger_id: planned[ledger_id] for ledger_id in changes if ledger_id in planned}
    names |= _names(before.ledgers) | _names(after.ledgers)
    was, now = _flows(before), _flows(after)
    zero = Decimal(0).scaleb(-before.scale)
    rows = [
        _LedgerChange(
            ledger_id,
            name,
            own := was.get(ledger_id, zero),
            _add(own, changes.get(ledger_id, zero)),
            now.get(ledger_id, zero),
        )
        for ledger_id, name in names.items()
    ]
    return sorted(rows, key=lambda row: (_subtract(row.predicted, row.before), row.ledger_id))


def _flow_differences(ledgers: Sequence[_LedgerChange], entries: _Entries) -> Iterator[_Difference]:
    """Yield the differences by ledger and entry, and what the lines do not show of a ledger."""
    names = {row.ledger_id: row.name for row in ledgers}
    missing = {row.ledger_id: _subtract(row.after, row.predicted) for row in ledgers}
    for entry, ledger_id, difference, cause in entries.differences():
        missing[ledger_id] = _subtract(missing.get(ledger_id), difference)
        transactions = entries.transaction_ids(entry)
        name = names.get(ledger_id, ledger_id)
        yield _Difference("net_cash_flow", ledger_id, name, entry, transactions, difference, cause)
    for ledger_id, difference in missing.items():
        if difference:
            name = names.get(ledger_id, ledger_id)
            yield _Difference("net_cash_flow", ledger_id, name, None, None, difference, "not_shown")


def _balance_differences(before: CashFlowReport, after: CashFlowReport) -> Iterator[_Difference]:
    """Yield balances and totals that changed."""
    for what in ("starting_cash_balance", "ending_cash_balance"):
        if difference := _subtract(getattr(after, what), getattr(before, what)):
            yield _Difference(what, None, None, None, None, difference, "balance_changed")
    for what in ("starting_balance", "ending_balance"):
        tables = [getattr(report, f"{what}s") for report in (before, after)]
        was, now = (dict(zip(table["ledger_id"], table["cash_balance"], strict=True)) for table in tables)
        for ledger_id, name in (_names(tables[0], "ledger_name") | _names(tables[1], "ledger_name")).items():
            if difference := _subtract(now.get(ledger_id), was.get(ledger_id)):
                yield _Difference(what, ledger_id, name, None, None, difference, "balance_changed")


def _reason(rows: pd.DataFrame) -> str:
    """State the differences of one figure that have one cause."""
    first = rows.iloc[0]
    difference = total(rows["difference"])
    than = f"{format_amount(difference.copy_abs())} {'more' if difference > 0 else 'less'} than predicted"
    ids = _ids(rows)
    cause = _CAUSES[first["cause"]].format(count=f"{len(ids):,}", ids=join_ids(ids, limit=_MAX_IDS))
    return f"{_TITLES[first['what']].format(ledger_name=first['ledger_name'])}: {than}: {cause}"


def _ids(rows: pd.DataFrame) -> list[str]:
    """Transactions of the plan that are not done, or journal entries for any other cause."""
    column = "transaction_ids" if rows["cause"].iloc[0] in _ITEM_CAUSES else "journal_entry_id"
    return sorted(set(split_lists(rows[column])))


def _entry_flows(report: CashFlowReport, moved: Sequence[PlanItem]) -> dict[str, dict[str, Decimal]]:
    """Sum the lines by journal entry and ledger, without zeros, after the items are moved to their new categories."""
    updated = {(item.journal_entry_id, item.category_ledger_id): item.updated_category_ledger_id for item in moved}
    flows: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    lines = report.lines
    with localcontext(EXACT):
        for entry, ledger_id, amount in zip(
            lines["journal_entry_id"], lines["ledger_id"], lines["amount"], strict=True
        ):
            flows[entry][updated.get((entry, ledger_id), ledger_id)] += amount
    return {entry: {key: amount for key, amount in own.items() if amount} for entry, own in flows.items()}


def _subtract(minuend: Decimal | None, subtrahend: Decimal | None) -> Decimal:
    """Difference without rounding, where an absent amount is zero."""
    with localcontext(EXACT):
        return (minuend or Decimal(0)) - (subtrahend or Decimal(0))


def _add(amount: Decimal, change: Decimal) -> Decimal:
    """Sum without rounding."""
    with localcontext(EXACT):
        return amount + change


def _flows(report: CashFlowReport) -> dict[str, Decimal]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))


def _names(table: pd.DataFrame, column: str = "name") -> dict[str, str]:
    return dict(zip(table["ledger_id"], table[column], strict=True))


def _columns(rows: Sequence[tuple[Any, ...]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Columns of rows."""
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}
