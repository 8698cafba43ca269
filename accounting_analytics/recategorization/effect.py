"""Effect of a plan on the cash flow report: before, as predicted and, once it is checked, after the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.figure_tables import entries_behind, figure_table_html, table_of_figures
from accounting_analytics.figures import KEY_SEPARATOR, OWN, Figure, figure_of_terms
from accounting_analytics.ledger_tree import LedgerTree, Trees
from accounting_analytics.load_metadata import books_notes
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.recategorization.changes import (
    IN_BOOKS,
    joining_changes,
    name_changes,
    require_outcomes_of,
    updated_lines,
)
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import LedgerChanges, Ledgers, ReportDifferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.report_figures import ReportFigures

    Lines = Counter[tuple[str, str]]
    """Whole minor units by journal entry and ledger, also where they sum to zero."""

_ALL_KNOWN = Trees(set(), set(), set())
"""Each root is a total of its own, also where a tree might be a part of another; a note says so."""
_MAX_REASONS = 3
_MAX_LEDGERS = 50
_TITLES = {
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "starting_balance": "starting balance of {ledger_name}",
    "ending_balance": "ending balance of {ledger_name}",
    "net_cash_flow": "net cash flow of {ledger_name}",
}
_BALANCE_CHANGED = "recategorizing cannot change it; another user posted, changed or deleted entries"
_CHANGED_ELSEWHERE = "another user changed, added or deleted entries"
_WHAT_TO_DO = (
    "Ask who changed the books of these days in the meantime, and verify the plan with its journal, which reads its "
    "transactions again; undoing the run takes back its own changes only"
)


@dataclass(frozen=True, repr=False)
class Effect(Result):
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
        :class:`~accounting_analytics.schemas.ReportDifferences`: the figures that are not as predicted; None until it
        is checked.
    item_counts : tuple of int, optional
        How many items of the plan are in the books, and how many there are; None where that is not known.
    """

    period: Period
    changes: pd.DataFrame
    notes: tuple[str, ...] = ()
    differences: pd.DataFrame | None = None
    item_counts: tuple[int, int] | None = None
    _prediction: _Prediction | None = field(default=None, compare=False)
    _after: CashFlowReport | None = field(default=None, compare=False)

    @classmethod
    def predict(cls, plan: Sequence[Change], before: CashFlowReport) -> Effect:
        """Predict the effect of the changes of a plan on a report."""
        require_report(before, "before")
        if before.tag_ids:
            raise InputError(
                "a report filtered by tags does not contain all lines; preview the plan on the untagged report"
            )
        prediction = _Prediction(tuple(plan), before, _Figures.of(before))
        notes = (*prediction.notes(before.period), *books_notes(before.ledgers))
        return cls(before.period, prediction.ledgers(), notes, _prediction=prediction)

    @property
    def frame(self) -> pd.DataFrame:
        """The changes."""
        return self.changes

    @property
    def as_predicted(self) -> bool | None:
        """Whether every figure is exactly as predicted; None until it is checked."""
        return None if self.differences is None else self.differences.empty

    def check(self, after: CashFlowReport, outcomes: pd.DataFrame | None = None) -> Effect:
        """Compare the report after a run with the predicted one.

        :func:`verify_plan` names the items that are not in the books, and :func:`reconcile` the entries that differ
        between two reports.

        Parameters
        ----------
        after : CashFlowReport
            The report of the same period after the run; untagged.
        outcomes : DataFrame, optional
            Result of :func:`apply_plan` or :func:`verify_plan`: only the items that it or the report shows to be in the
            books are predicted then.

        Returns
        -------
        Effect
            ``as_predicted`` if every figure is equal; else ``differences`` has those that are not, and
            :meth:`raise_for_unexpected` raises.

        Raises
        ------
        InputError
            An argument is of another type, the report is of another period or filtered by tags, or the outcomes belong
            to another plan.
        """
        require_report(after, "after")
        if after.period != self.period or after.tag_ids:
            raise InputError(
                f"both reports must cover one period and be untagged, not {self.period} and {after.period}"
            )
        prediction, figures, counts = self._known_prediction(), _Figures.of(after), None
        if outcomes is not None:
            plan = prediction.plan
            found = zip(plan, require_outcomes_of(plan, outcomes), strict=True)
            made = tuple(change for change, outcome in found if outcome in IN_BOOKS or figures.shows(change))
            prediction, counts = replace(prediction, plan=made), (len(made), len(plan))
        return replace(
            self,
            changes=prediction.ledgers(figures),
            differences=prediction.differences(figures),
            item_counts=counts,
            _prediction=prediction,
            _after=after,
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
        return self._known_prediction().roots(Ledgers.checked(ledgers))

    def raise_for_unexpected(self) -> None:
        """Raise if the report changed otherwise than predicted.

        Raises
        ------
        BooksDoNotTieError
            A balance changed, or a ledger changed by another amount than predicted; the message has the first, and
            ``differences`` all.
        """
        reasons = self.reasons()
        if not reasons:
            return
        more = f" (and {len(reasons) - _MAX_REASONS:,} more)" if len(reasons) > _MAX_REASONS else ""
        state = f"{self._items_in_books()}, but " if self.item_counts else ""
        raise BooksDoNotTieError(
            f"{state}the report of {self.period} did not change as planned: {'; '.join(reasons[:_MAX_REASONS])}{more}. "
            f"{_WHAT_TO_DO}"
        )

    def _items_in_books(self) -> str:
        made, count = self.item_counts or (0, 0)
        return f"{made:,} of {count_of(count, 'item')} in the books"

    def summary(self) -> str:
        """One line: how many ledgers change, and once checked whether all figures are as predicted."""
        title = f"Cash flow report, {self.period}"
        if self.differences is None:
            return f"{title}: {count_of(len(self.changes), 'ledger changes', 'ledgers change')}."
        changed = int((self.changes["before"] != self.changes["after"]).sum())
        verdict = f"{count_of(len(self.differences), 'figure differs', 'figures differ')} from the prediction"
        if self.differences.empty:
            verdict = "every figure is as predicted, to the last digit"
        is_partial = self.item_counts is not None and self.item_counts[0] < self.item_counts[1]
        state = f"{self._items_in_books()}; " if is_partial else ""
        return f"{title}: {state}{count_of(changed, 'ledger')} changed; {verdict}."

    def reasons(self) -> list[str]:
        """One sentence for each figure that differs, balances first."""
        found = ReportDifferences.without_rows() if self.differences is None else self.differences
        columns = ("what", "ledger_name", "difference")
        return [_reason(*row) for row in _rows(ReportDifferences.exact(found).frame, *columns)]

    def _parts(self) -> Iterator[ResultPart]:
        """Show each ledger before, predicted and after, whose lines unfold, and each difference."""
        exact = LedgerChanges.exact(self.changes).frame
        prediction, after = self._prediction, self._after
        html = None if prediction is None else lambda: prediction.html(exact["ledger_id"], after)
        amounts = [name for name in ("before", "predicted", "after") if name in exact]
        lines = [
            f"- {row['name']}: {', '.join(f'{format_amount(row[name])} {name}' for name in amounts)}"
            for row in exact.to_dict("records")
        ]
        yield ResultPart(lines, exact.drop(columns="ledger_id"), rest="ledgers; .frame has all", html=html)
        reasons = self.reasons()
        table = pd.DataFrame({"not as predicted": reasons})
        yield ResultPart([f"- {reason}" for reason in reasons], table, rest="reasons; .reasons() has all")

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "as_predicted": self.as_predicted,
            "notes": self.notes,
            "changes": self.changes,
            "differences": self.differences,
        }

    def _known_prediction(self) -> _Prediction:
        if self._prediction is None:
            raise InputError("this effect was not made by Plan.preview(before), so it cannot be checked")
        return self._prediction


class _Figures(NamedTuple):
    """Figures of a report in whole minor units, and the names of its ledgers.

    `totals` are those that the report states. A balance is found by its kind and its account; None means all accounts.
    """

    lines: Lines
    flows: Counter[str]
    totals: dict[str, int]
    balances: Counter[tuple[str, str | None]]
    names: dict[str, str]

    @classmethod
    def of(cls, report: CashFlowReport) -> Self:
        """Read the figures of a report."""
        exact, scale = report.exact(), report.scale
        found = cls(Counter(), Counter(), {}, Counter(), {})
        for ledger_id, name, flow, total_flow in _rows(
            exact.ledgers, "ledger_id", "name", "net_cash_flow", "total_net_cash_flow"
        ):
            found.names[ledger_id] = name
            found.flows[ledger_id] = to_minor_units(flow, scale)
            if not pd.isna(total_flow):
                found.totals[ledger_id] = to_minor_units(total_flow, scale)
        for entry, ledger_id, amount in _rows(exact.lines, "journal_entry_id", "ledger_id", "amount"):
            found.lines[entry, ledger_id] += to_minor_units(amount, scale)
        for what in ("starting_cash_balance", "ending_cash_balance"):
            found.balances[what, None] = to_minor_units(getattr(exact, what), scale)
        for what in ("starting_balance", "ending_balance"):
            for ledger_id, name, balance in _rows(
                getattr(exact, f"{what}s"), "ledger_id", "ledger_name", "cash_balance"
            ):
                found.names.setdefault(ledger_id, name)
                found.balances[what, ledger_id] = to_minor_units(balance, scale)
        return found

    def shows(self, change: Change) -> bool:
        """Whether the lines are as a change makes them."""
        entry = change.journal_entry_id
        return change.category_line not in self.lines and (entry, change.updated_category_ledger_id) in self.lines


@dataclass(frozen=True)
class _Prediction:
    """The changes of a plan, and the report that they change, with its figures."""

    plan: tuple[Change, ...]
    report: CashFlowReport
    before: _Figures

    @cached_property
    def changes(self) -> Counter[str]:
        """Change of the net cash flow of each ledger that the plan moves lines from or to."""
        updated, moved = updated_lines(self.plan), Counter[str]()
        for (entry, ledger_id), units in self.before.lines.items():
            if (entry, ledger_id) in updated:
                moved[ledger_id] -= units
                moved[updated[entry, ledger_id]] += units
        return moved

    def ledgers(self, after: _Figures | None = None) -> pd.DataFrame:
        """Tabulate the ledgers that are predicted to change, and those that changed where `after` is known."""
        before, changes = self.before.flows, self.changes
        listed = {one for one in changes if changes[one]}
        if after is None:
            return self._table(listed, self._names(), before, changes)
        listed.update(_differing(before, after.flows))
        return self._table(listed, self._names() | after.names, before, changes, after.flows)

    def roots(self, chart: pd.DataFrame) -> pd.DataFrame:
        """Tabulate the root above each ledger that changes, with its total."""
        tree = LedgerTree.from_frame(chart)
        sums = (tree.totals(own, _ALL_KNOWN) for own in (self.before.flows, self.changes))
        before, changes = (Counter({one: units or 0 for one, units in own.items()}) for own in sums)
        roots = {tree.hierarchy.root(one) for one in self.changes}
        totals = self._table(roots, tree.names, Counter({**before, **self.before.totals}), changes)
        known = tree.names.keys() - tree.without_known_parent
        unknown = [
            tree.names.get(one, one) for one in self.changes if not {one, *tree.hierarchy.ancestors(one)} <= known
        ]
        note = (
            f"The parents of {count_of(len(unknown), 'ledger')} to be changed are not known, so each is a total of its "
            f"own, and the totals above them may be incomplete: {join_ids(unknown)}."
        )
        totals.attrs["notes"] = (note,) if unknown else ()
        return totals

    def differences(self, after: _Figures) -> pd.DataFrame:
        """Tabulate what differs from the prediction, balances first."""
        names, predicted = self._names() | after.names, Counter(self.before.flows)
        predicted.update(self.changes)
        found = [
            *((*key, self.before.balances[key], after.balances[key]) for key in self.before.balances | after.balances),
            *(("net_cash_flow", one, predicted[one], after.flows[one]) for one in names),
        ]
        rows = [(what, one, units - expected) for what, one, expected, units in found if units != expected]
        columns: dict[str, list[Any]] = {
            "what": [what for what, *_ in rows],
            "ledger_id": [one for _, one, _ in rows],
            "ledger_name": [one and names.get(one, one) for _, one, _ in rows],
            "difference": [from_minor_units(units, self.report.scale) for *_, units in rows],
        }
        return ReportDifferences.from_columns(columns, self.report.scale, as_decimals=self.report.as_decimals)

    def notes(self, period: Period) -> Iterator[str]:
        """Sentences about items that change nothing, or that cannot be undone."""
        absent = [one for one in self.plan if one.category_line not in self.before.lines]
        if absent:
            yield (
                f"{len(absent):,} of {count_of(len(self.plan), 'item')} would change nothing in the report of "
                f"{period}, because their lines are outside the period or no longer have the expected category: "
                f"{name_changes(absent)}."
            )
        merging = joining_changes(self.plan)
        if merging:
            yield (
                f"{len(merging):,} of {count_of(len(self.plan), 'item')} would join a part of a split with another "
                f"part; the parts cannot be distinguished afterwards, so this cannot be undone: {name_changes(merging)}"
                ". They are refused unless allow_irreversible is set (--allow-irreversible)."
            )

    def html(self, ledger_ids: Iterable[str], after: CashFlowReport | None) -> str:
        """Write the ledgers as a table whose amounts unfold: lines of the reports, and those that the plan moves."""
        last_figures = after.figures if after else None
        names = self._names() | (last_figures.names if last_figures else {})
        rows = []
        for one in list(ledger_ids)[:_MAX_LEDGERS]:
            name = names.get(one, one)
            before = _of_report(self._figures, one, "before", name)
            change = self._change(one, name)
            predicted = figure_of_terms(
                f"{one}{KEY_SEPARATOR}predicted", f"{name}, predicted", [("+", before), ("+", change)]
            )
            last = [] if last_figures is None else [_of_report(last_figures, one, "after", name)]
            rows.append((name, [before, change, predicted, *last]))
        table = table_of_figures(
            "Net cash flow by ledger",
            [str(self.report.period)],
            ["Before", "Change", "Predicted", *(["After"] if after else [])],
            rows,
            entries_behind(rows),
            scale=self.report.scale,
            call="effect.frame",
            name=lambda one: names.get(one, one),
        )
        return figure_table_html(table) if rows else ""

    @cached_property
    def _figures(self) -> ReportFigures:
        """Figures of the report, whose amounts are converted once."""
        return self.report.figures

    def _change(self, ledger_id: str, name: str) -> Figure:
        """Figure of the lines that the plan moves to a ledger, less those that it moves from it."""

        def moved() -> pd.DataFrame:
            entries, into = self._moved_entries, self._moved_entries["updated_ledger_id"] == ledger_id
            out_of = entries[entries["ledger_id"] == ledger_id]
            both = [entries[into], out_of.assign(figure_amount=-out_of["figure_amount"])]
            return pd.concat(both, ignore_index=True).drop(columns="updated_ledger_id")

        return Figure(
            f"{ledger_id}{KEY_SEPARATOR}change",
            f"{name}, change",
            self.changes[ledger_id],
            "the lines that the plan moves",
            scale=self.report.scale,
            as_decimals=self.report.as_decimals,
            _load_entries=moved,
        )

    @cached_property
    def _moved_entries(self) -> pd.DataFrame:
        """Lines that the plan moves, each with the ledger that it moves it to."""
        updated, figures = updated_lines(self.plan), self._figures
        ledgers = {ledger_id for _, ledger_id in updated} & figures.names.keys()
        found = [figures.figure(f"{OWN}{one}").entries for one in sorted(ledgers)]
        lines = pd.concat(found, ignore_index=True) if found else figures.lines.assign(figure_amount=0)
        targets = [updated.get(key) for key in zip(lines["journal_entry_id"], lines["ledger_id"], strict=True)]
        return lines.assign(updated_ledger_id=pd.Series(targets, dtype="str")).dropna(subset="updated_ledger_id")

    def _names(self) -> dict[str, str]:
        """Names of the ledgers of the plan and of the report; those of the report are certain."""
        planned = {change.updated_category_ledger_id: change.updated_category_ledger_name for change in self.plan}
        return planned | self.before.names

    def _table(
        self,
        ledger_ids: Iterable[str],
        names: Mapping[str, str],
        before: Counter[str],
        changes: Counter[str],
        after: Counter[str] | None = None,
    ) -> pd.DataFrame:
        """Tabulate ledgers, the largest predicted decrease first."""
        ids = sorted(ledger_ids, key=lambda one: (changes[one], one))
        units = {
            "before": [before[one] for one in ids],
            "change": [changes[one] for one in ids],
            "predicted": [before[one] + changes[one] for one in ids],
        }
        if after is not None:
            units["after"] = [after[one] for one in ids]
        amounts = {name: [from_minor_units(one, self.report.scale) for one in column] for name, column in units.items()}
        columns: dict[str, list[Any]] = {"ledger_id": ids, "name": [names.get(one, one) for one in ids], **amounts}
        return LedgerChanges.from_columns(columns, self.report.scale, as_decimals=self.report.as_decimals)


def _of_report(figures: ReportFigures, ledger_id: str, column: str, name: str) -> Figure:
    """Net cash flow of a ledger in a report; zero where the report does not list it."""
    key, label = f"{ledger_id}{KEY_SEPARATOR}{column}", f"{name}, {column}"
    if ledger_id in figures.names:
        return replace(figures.figure(f"{OWN}{ledger_id}"), key=key, label=label, selections=())
    return Figure(key, label, 0, "the report has no lines of it", scale=figures.scale, as_decimals=figures.as_decimals)


def _reason(what: str, name: str | None, difference: Decimal) -> str:
    """State how much a figure differs, and what that means."""
    side = "more" if difference > 0 else "less"
    cause = _CHANGED_ELSEWHERE if what == "net_cash_flow" else _BALANCE_CHANGED
    title = _TITLES[what].format(ledger_name=name)
    return f"{title}: {format_amount(difference.copy_abs())} {side} than predicted: {cause}"


def _differing(one: Counter[Any], other: Counter[Any]) -> list[Any]:
    """Keys whose units differ."""
    return [key for key in {**one, **other} if one[key] != other[key]]


def _rows(table: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Rows of some columns."""
    return zip(*(table[name].tolist() for name in names), strict=True)  # Arrow columns are slow to iterate
