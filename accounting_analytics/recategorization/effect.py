"""Effect of a plan on the cash flow report: before, as predicted and, once it is checked, after the run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.frame_columns import LIST_SEPARATOR, split_lists, total
from accounting_analytics.json_text import to_json_text
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import fit_terminal, join_ids, printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.recategorization.changes import IN_BOOKS, Outcome, joining_changes, require_outcomes_of
from accounting_analytics.schemas import LedgerChanges, Ledgers, ReportDifferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization.changes import Change

_NOT_SENT = frozenset({Outcome.WOULD_CHANGE, Outcome.CHANGED_ELSEWHERE})
_ITEM_CAUSES = frozenset({Outcome.NOT_DONE, Outcome.REFUSED, Outcome.UNKNOWN})
_MAX_ROWS = 50
_MAX_IDS = 3
_MAX_REASONS = 3
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
_NOT_OF_THE_PLAN = (
    "No transaction of the plan is part of this, so it is not from its run: ask who changed the books of these days in "
    "the meantime; undoing the run takes back its own changes only"
)
_OF_THE_PLAN = (
    "{count} transaction(s) of the plan are part of this ({ids}): verify the plan with its journal, which reads them "
    "again; other users may have changed them since, and undoing leaves those alone"
)


@dataclass(frozen=True, repr=False)
class Effect:
    """Result of :meth:`Plan.preview`, and of :meth:`Effect.check`.

    Parameters
    ----------
    period : Period
        The period of the reports.
    changes : DataFrame
        :class:`~accounting_analytics.schemas.LedgerChanges`: each ledger that changes, before and as predicted; once
        checked, also what it is after the run, and ledgers that changed otherwise.
    notes : tuple of str
        Items that change nothing in the report, and those that cannot be undone individually.
    differences : DataFrame, optional
        :class:`~accounting_analytics.schemas.ReportDifferences`: what differs from the prediction, and why; None until
        it is checked.
    outcome_counts : tuple of int, optional
        How many items of the plan are in the books, and how many there are; None where that is not known.
    """

    period: Period
    changes: pd.DataFrame
    notes: tuple[str, ...] = ()
    differences: pd.DataFrame | None = None
    outcome_counts: tuple[int, int] | None = None
    _prediction: _Prediction | None = field(default=None, compare=False)

    @classmethod
    def predict(cls, plan: Sequence[Change], before: CashFlowReport) -> Effect:
        """Predict the effect of the changes of a plan on a report."""
        require_untagged(before, "before")
        prediction = _Prediction(tuple(plan), before.exact(), as_decimals=before.as_decimals)
        rows = [row for row in prediction.ledgers() if row.change]
        return cls(before.period, prediction.table(rows), tuple(prediction.notes()), _prediction=prediction)

    @property
    def frame(self) -> pd.DataFrame:
        """The changes."""
        return self.changes

    @property
    def as_predicted(self) -> bool | None:
        """Whether every figure is exactly as predicted; None until it is checked."""
        return None if self.differences is None else self.differences.empty

    @property
    def unexpected(self) -> pd.DataFrame:
        """The differences that the outcomes of items do not explain; without outcomes all of them."""
        found = ReportDifferences.without_rows() if self.differences is None else self.differences
        return found if self.outcome_counts is None else found[~found["cause"].isin(_ITEM_CAUSES)]

    def check(self, after: CashFlowReport, outcomes: pd.DataFrame | None = None) -> Effect:
        """Compare the report after a run with the predicted one.

        Parameters
        ----------
        after : CashFlowReport
            The report of the same period after the run; untagged.
        outcomes : DataFrame, optional
            Result of :func:`apply_plan` or :func:`verify_plan`: says why an item is not in the books.

        Returns
        -------
        Effect
            ``as_predicted`` if every figure is equal; else ``differences`` has the cause of each: items that are not
            done, what another user changed, new entries. :meth:`raise_for_unexpected` raises for what the outcomes do
            not explain.

        Raises
        ------
        InputError
            An argument is of another type, the report is of another period or filtered by tags, or the outcomes belong
            to another plan.
        """
        require_report(after, "after")
        if after.period != self.period or after.tag_ids:
            msg = f"both reports must cover one period and be untagged, not {self.period} and {after.period}"
            raise InputError(msg)
        prediction = self._known_prediction()
        states = None if outcomes is None else require_outcomes_of(prediction.plan, outcomes)
        after = after.exact()
        ledgers = prediction.ledgers(after)
        entries = _Entries(prediction, states, after)
        differences = [*_balance_differences(prediction.before, after), *_flow_differences(ledgers, entries)]
        return replace(
            self,
            changes=prediction.table(
                [row for row in ledgers if len({row.before, row.predicted, row.after}) > 1], after
            ),
            differences=ReportDifferences.from_columns(
                _columns(differences, ReportDifferences.dtypes()), after.scale, as_decimals=prediction.as_decimals
            ),
            outcome_counts=None if states is None else (sum(state in IN_BOOKS for state in states), len(states)),
        )

    def totals(self, ledgers: pd.DataFrame) -> pd.DataFrame:
        """Predict the totals at the roots of the chart of accounts, such as all expenses.

        Parameters
        ----------
        ledgers : DataFrame
            :class:`~accounting_analytics.schemas.Ledgers`, which state the parents.

        Returns
        -------
        DataFrame
            :class:`~accounting_analytics.schemas.LedgerChanges`, one row per root above the ledgers that change, with
            its total net cash flow. ``attrs["notes"]`` names ledgers whose parents are not known.

        Raises
        ------
        InputError
            `ledgers` is of another type.
        """
        require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
        prediction = self._known_prediction()
        roots = _Roots(ledgers)
        totals = prediction.table(prediction.roots(roots))
        totals.attrs["notes"] = tuple(roots.notes(prediction.changes()))
        return totals

    def raise_for_unexpected(self) -> None:
        """Raise if the report changed otherwise than predicted, but for items that the outcomes explain.

        Raises
        ------
        BooksDoNotTieError
            A balance changed, or a ledger changed by another amount than predicted; the message has the first causes,
            and whether transactions of the plan are among them. ``differences`` has all.
        """
        if self.unexpected.empty:
            return
        reasons = _reasons(self.unexpected)
        more = f" (and {len(reasons) - _MAX_REASONS:,} more)" if len(reasons) > _MAX_REASONS else ""
        ids = sorted(set(split_lists(self.unexpected["transaction_ids"])))
        origin = (
            _OF_THE_PLAN.format(count=f"{len(ids):,}", ids=join_ids(ids, limit=_MAX_IDS)) if ids else _NOT_OF_THE_PLAN
        )
        state = ""
        if self.outcome_counts is not None:
            state = "{:,} of {:,} item(s) are in the books, but ".format(*self.outcome_counts)
        msg = (
            f"{state}the report of {self.period} did not change as planned: {'; '.join(reasons[:_MAX_REASONS])}{more}. "
            f"{origin}"
        )
        raise BooksDoNotTieError(msg)

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def summary(self) -> str:
        """One line: how many ledgers change, and once checked whether all figures are as predicted."""
        exact = LedgerChanges.exact(self.changes).frame
        if self.differences is None:
            return f"Cash flow report, {self.period}: {len(exact):,} ledger(s) change."
        changed = int((exact["before"] != exact["after"]).sum())
        return f"Cash flow report, {self.period}: {changed:,} ledger(s) changed; {self._verdict(self.differences)}."

    def explain(self) -> str:
        """Plain text: the summary and notes, each ledger before, predicted and after, each difference and its cause."""
        names = [name for name in ("before", "predicted", "after") if name in self.changes]
        changes = [
            f"- {row['name']}: {', '.join(f'{format_amount(row[name])} {name}' for name in names)}"
            for row in LedgerChanges.exact(self.changes).frame.to_dict("records")
        ]
        differences = [f"- {reason}" for reason in self.reasons()]
        blocks = ([self.summary(), *self.notes], changes, differences)
        return "\n\n".join("\n".join(map(printable, block)) for block in blocks if block)

    def reasons(self) -> list[str]:
        """One sentence for each figure and cause of the differences, balances first."""
        return [] if self.differences is None else _reasons(self.differences)

    def to_json(self) -> str:
        """JSON text of the effect; amounts are strings."""
        differences = None if self.differences is None else ReportDifferences.exact(self.differences).frame
        return to_json_text(
            {
                "start_date": self.period.start_date,
                "end_date": self.period.end_date,
                "time_zone": self.period.time_zone,
                "as_predicted": self.as_predicted,
                "notes": list(self.notes),
                "changes": LedgerChanges.exact(self.changes).frame,
                "differences": differences,
            }
        )

    def _verdict(self, differences: pd.DataFrame) -> str:
        if differences.empty:
            return "every figure is as predicted, to the last digit"
        figures = differences[["what", "ledger_id"]].drop_duplicates()
        return f"{len(figures):,} figure(s) differ from the prediction"

    def _known_prediction(self) -> _Prediction:
        if self._prediction is None:
            msg = "this effect was not made by Plan.preview(before), so it cannot be checked"
            raise InputError(msg)
        return self._prediction

    def _repr_html_(self) -> str:
        exact = LedgerChanges.exact(self.changes).frame.head(_MAX_ROWS)
        amounts = [name for name in ("before", "change", "predicted", "after") if name in exact]
        printed = exact.assign(**{name: [format_amount(amount) for amount in exact[name]] for name in amounts})
        table = printed[["name", *amounts]].to_html(index=False, escape=True)
        rest = len(self.changes) - len(exact)
        more = f"<p>{len(exact):,} of {len(self.changes):,} ledgers; .frame has all</p>" if rest else ""
        notes = "".join(f"<p>{escape(printable(note))}</p>" for note in self.notes)
        listed = "".join(f"<li>{escape(printable(reason))}</li>" for reason in self.reasons()[:_MAX_ROWS])
        causes = f"<ul>{listed}</ul>" if listed else ""
        return f"<p><strong>{escape(self.summary())}</strong></p>{notes}{table}{more}{causes}"


class _LedgerChange(NamedTuple):
    """Net cash flow of a ledger before, its predicted change, as predicted, and after."""

    ledger_id: str
    name: str
    before: Decimal
    change: Decimal
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


class _Prediction(NamedTuple):
    """The changes of a plan, and the exact report that they change."""

    plan: tuple[Change, ...]
    before: CashFlowReport
    as_decimals: bool

    @property
    def zero(self) -> Decimal:
        """Zero with the digits of the report."""
        return Decimal(0).scaleb(-self.before.scale)

    def changes(self) -> dict[str, Decimal]:
        """Change of the net cash flow of each ledger that the plan moves lines from or to."""
        updated = _updated(self.plan)
        changes: dict[str, Decimal] = defaultdict(lambda: self.zero)
        with localcontext(EXACT):
            for entry, ledger_id, amount in _lines(self.before):
                if (entry, ledger_id) in updated:
                    changes[ledger_id] -= amount
                    changes[updated[entry, ledger_id]] += amount
        return changes

    def ledgers(self, after: CashFlowReport | None = None) -> list[_LedgerChange]:
        """Every ledger of the reports and of the plan, the largest predicted decrease first."""
        changes = self.changes()
        planned = {change.updated_category_ledger_id: change.updated_category_ledger_name for change in self.plan}
        names = {ledger_id: planned.get(ledger_id, ledger_id) for ledger_id in changes} | _names(self.before.ledgers)
        was = _flows(self.before)
        names |= {} if after is None else _names(after.ledgers)
        now = {} if after is None else _flows(after)
        rows = [
            _ledger_change(ledger_id, name, was.get(ledger_id, self.zero), changes.get(ledger_id, self.zero))._replace(
                after=now.get(ledger_id, self.zero)
            )
            for ledger_id, name in names.items()
        ]
        return sorted(rows, key=lambda row: (row.change, row.ledger_id))

    def roots(self, roots: _Roots) -> list[_LedgerChange]:
        """Return the root above each ledger that changes, with its total; the largest decrease first."""
        sums: dict[str, Decimal] = defaultdict(lambda: self.zero)
        own: dict[str, Decimal] = defaultdict(lambda: self.zero)
        with localcontext(EXACT):
            for ledger_id, change in self.changes().items():
                sums[roots.root(ledger_id)] += change
            for ledger_id, amount in _flows(self.before).items():
                own[roots.root(ledger_id)] += amount
        stated = self.before.ledgers.dropna(subset=["total_net_cash_flow"])
        totals = own | dict(zip(stated["ledger_id"], stated["total_net_cash_flow"], strict=True))
        rows = [_ledger_change(root, roots.name(root), totals.get(root, self.zero), sums[root]) for root in sums]
        return sorted(rows, key=lambda row: (row.change, row.ledger_id))

    def table(self, rows: Sequence[_LedgerChange], after: CashFlowReport | None = None) -> pd.DataFrame:
        """Rows as a table; with the amounts after the run if there is a report of them."""
        columns = _columns(rows, _LedgerChange._fields)
        if after is None:
            del columns["after"]
        return LedgerChanges.from_columns(columns, self.before.scale, as_decimals=self.as_decimals)

    def notes(self) -> Iterator[str]:
        """Sentences about items that change nothing, or that cannot be undone."""
        present = {(entry, ledger_id) for entry, ledger_id, _ in _lines(self.before)}
        absent = [one.transaction_id for one in self.plan if one.category_line not in present]
        if absent:
            yield (
                f"{len(absent):,} of {len(self.plan):,} item(s) change nothing in the report of {self.before.period}, "
                "because their lines are outside the period or no longer have the expected category: "
                f"{join_ids(absent)}."
            )
        merging = [change.transaction_id for change in joining_changes(self.plan)]
        if merging:
            yield (
                f"{len(merging):,} of {len(self.plan):,} item(s) join a part of a split with another part; the parts "
                f"cannot be distinguished afterwards, so this cannot be undone: {join_ids(merging)}. They are refused "
                "unless allow_irreversible is set (--allow-irreversible)."
            )


class _Roots:
    """Roots of ledgers, by their parents in the chart of accounts.

    Parameters
    ----------
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    """

    def __init__(self, ledgers: pd.DataFrame) -> None:
        ledgers = Ledgers.checked(ledgers)
        self._hierarchy = LedgerNames.from_frame(ledgers).hierarchy
        self._names: dict[str, str] = dict(zip(ledgers["id"], ledgers["name"], strict=True))
        known = ledgers.get("parent_known", default=True)
        self._known = set(ledgers.loc[ledgers["parent_id"].notna() | known, "id"])

    def root(self, ledger_id: str) -> str:
        """Root of a ledger; the ledger itself where its parent is not known."""
        return self._hierarchy.root(ledger_id)

    def name(self, ledger_id: str) -> str:
        """Name of a ledger; its id where it is not in the chart of accounts."""
        return self._names.get(ledger_id, ledger_id)

    def notes(self, changes: Iterable[str]) -> Iterator[str]:
        """Name ledgers whose parents are not known up to the root."""
        unknown = [one for one in changes if not {one, *self._hierarchy.ancestors(one)} <= self._known]
        if unknown:
            yield (
                f"The parents of {len(unknown)} ledger(s) that change are not known, so each is a total of its own, "
                f"and the totals above them may be incomplete: {join_ids(map(self.name, unknown))}."
            )


class _Entries:
    """Cash flow by journal entry and ledger: before, as predicted, as far as the items are done, and after.

    Parameters
    ----------
    prediction : _Prediction
        The changes of the plan, and the report before.
    states : sequence of str or None
        Outcomes of the changes, where known.
    after : CashFlowReport
        The report after the run.
    """

    def __init__(self, prediction: _Prediction, states: Sequence[str] | None, after: CashFlowReport) -> None:
        self._items: dict[str, list[Change]] = defaultdict(list)
        for item in prediction.plan:
            self._items[item.journal_entry_id].append(item)
        self._states = {} if states is None else dict(zip(prediction.plan, states, strict=True))
        self._open = {item for item, state in self._states.items() if state not in IN_BOOKS}
        done = [item for item in prediction.plan if item not in self._open]
        self._before = _entry_flows(prediction.before, [])
        self._after = _entry_flows(after, [])
        self._predicted = _entry_flows(prediction.before, prediction.plan)
        self._completed = _entry_flows(prediction.before, done)

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
            return Outcome.NOT_DONE if states[0] in _NOT_SENT else states[0]
        if items and not self._states and self._after[entry] == self._before[entry]:
            return Outcome.NOT_DONE
        return Outcome.CHANGED_ELSEWHERE


def require_untagged(report: CashFlowReport, name: str) -> None:
    """Refuse what is not a report, and a report that is filtered by tags."""
    require_report(report, name)
    if report.tag_ids:
        msg = "a report filtered by tags does not contain all lines; preview the plan on the untagged report"
        raise InputError(msg)


def _ledger_change(ledger_id: str, name: str, before: Decimal, change: Decimal) -> _LedgerChange:
    with localcontext(EXACT):
        predicted = before + change
    return _LedgerChange(ledger_id, name, before, change, predicted, predicted)


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


def _reasons(differences: pd.DataFrame) -> list[str]:
    """One sentence for each figure and cause of :class:`~accounting_analytics.schemas.ReportDifferences`."""
    exact = ReportDifferences.exact(differences).frame
    grouped = exact.fillna({"ledger_id": ""}).groupby(["what", "ledger_id", "cause"], sort=False)
    return [_reason(rows) for _, rows in grouped]


def _reason(rows: pd.DataFrame) -> str:
    """State the differences of one figure that have one cause."""
    first = rows.iloc[0]
    difference = total(rows["difference"])
    than = f"{format_amount(difference.copy_abs())} {'more' if difference > 0 else 'less'} than predicted"
    column = "transaction_ids" if first["cause"] in _ITEM_CAUSES else "journal_entry_id"
    ids = sorted(set(split_lists(rows[column])))
    cause = _CAUSES[first["cause"]].format(count=f"{len(ids):,}", ids=join_ids(ids, limit=_MAX_IDS))
    return f"{_TITLES[first['what']].format(ledger_name=first['ledger_name'])}: {than}: {cause}"


def _updated(changes: Iterable[Change]) -> dict[tuple[str, str], str]:
    """Return the new category of each line, by its entry and category."""
    return {change.category_line: change.updated_category_ledger_id for change in changes}


def _lines(report: CashFlowReport) -> Iterator[tuple[str, str, Decimal]]:
    """Entry, ledger and amount of each line."""
    return zip(*(report.lines[name] for name in ("journal_entry_id", "ledger_id", "amount")), strict=True)


def _entry_flows(report: CashFlowReport, moved: Iterable[Change]) -> dict[str, dict[str, Decimal]]:
    """Sum the lines by journal entry and ledger, without zeros, after the items are moved to their new categories."""
    updated = _updated(moved)
    flows: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    with localcontext(EXACT):
        for entry, ledger_id, amount in _lines(report):
            flows[entry][updated.get((entry, ledger_id), ledger_id)] += amount
    return {entry: {key: amount for key, amount in own.items() if amount} for entry, own in flows.items()}


def _subtract(minuend: Decimal | None, subtrahend: Decimal | None) -> Decimal:
    """Difference without rounding, where an absent amount is zero."""
    with localcontext(EXACT):
        return (minuend or Decimal(0)) - (subtrahend or Decimal(0))


def _flows(report: CashFlowReport) -> dict[str, Decimal]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))


def _names(table: pd.DataFrame, column: str = "name") -> dict[str, str]:
    return dict(zip(table["ledger_id"], table[column], strict=True))


def _columns(rows: Sequence[tuple[Any, ...]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Columns of rows."""
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}
