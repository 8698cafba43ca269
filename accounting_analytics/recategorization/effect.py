"""Effect of a plan on the cash flow report: before, as predicted and, once it is checked, after the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.column_conversion import LIST_SEPARATOR, split_lists, total
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.ledger_tree import LedgerTree, Trees
from accounting_analytics.load_metadata import books_notes
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.recategorization.changes_and_outcomes import (
    IN_BOOKS,
    Outcome,
    joining_changes,
    require_outcomes_of,
)
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.schemas import LedgerChanges, Ledgers, ReportDifferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization.changes_and_outcomes import Change

    Lines = Counter[tuple[str, str]]
    """Whole minor units by journal entry and ledger, also where they sum to zero."""

_NOT_SENT = frozenset({Outcome.WOULD_CHANGE, Outcome.CHANGED_ELSEWHERE})
_ITEM_CAUSES = frozenset({Outcome.NOT_DONE, Outcome.REFUSED, Outcome.UNKNOWN})
_ALL_KNOWN = Trees(set(), set(), set())
"""Each root is a total of its own, also where a tree might be a part of another; a note says so."""
_MAX_IDS = 3
_MAX_REASONS = 3
_CAUSES = {
    "not_done": "{items} not done ({ids})",
    "refused": "{items} refused ({ids})",
    "unknown": "{items} unknown, possibly still to be carried out ({ids})",
    "changed_elsewhere": "another user changed {entries} ({ids})",
    "new_entry": "{new_entries} ({ids})",
    "missing_entry": "{entries} no longer in the report ({ids})",
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
    "{transactions} of the plan had a part in this ({ids}): verify the plan with its journal, which reads them "
    "again; other users may have changed them since, and undoing leaves those alone"
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
        require_report(before, "before")
        if before.tag_ids:
            raise InputError(
                "a report filtered by tags does not contain all lines; preview the plan on the untagged report"
            )
        prediction = _Prediction(tuple(plan), _Figures.of(before), before.scale, before.as_decimals)
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
            raise InputError(
                f"both reports must cover one period and be untagged, not {self.period} and {after.period}"
            )
        prediction, figures = self._known_prediction(), _Figures.of(after)
        states = None if outcomes is None else require_outcomes_of(prediction.plan, outcomes)
        return replace(
            self,
            changes=prediction.ledgers(figures),
            differences=prediction.differences(figures, states),
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
        return self._known_prediction().roots(Ledgers.checked(ledgers))

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
        origin = _NOT_OF_THE_PLAN
        if ids:
            transactions = count_of(len(ids), "transaction")
            origin = _OF_THE_PLAN.format(transactions=transactions, ids=join_ids(ids, limit=_MAX_IDS))
        state = ""
        if self.outcome_counts is not None:
            done, items = self.outcome_counts
            state = f"{done:,} of {count_of(items, 'item')} in the books, but "
        raise BooksDoNotTieError(
            f"{state}the report of {self.period} did not change as planned: {'; '.join(reasons[:_MAX_REASONS])}{more}. "
            f"{origin}"
        )

    def summary(self) -> str:
        """One line: how many ledgers change, and once checked whether all figures are as predicted."""
        title = f"Cash flow report, {self.period}"
        if self.differences is None:
            return f"{title}: {count_of(len(self.changes), 'ledger changes', 'ledgers change')}."
        changed = int((self.changes["before"] != self.changes["after"]).sum())
        figures = len(self.differences[["what", "ledger_id"]].drop_duplicates())
        verdict = f"{count_of(figures, 'figure differs', 'figures differ')} from the prediction"
        if not figures:
            verdict = "every figure is as predicted, to the last digit"
        return f"{title}: {count_of(changed, 'ledger')} changed; {verdict}."

    def reasons(self) -> list[str]:
        """One sentence for each figure and cause of the differences, balances first."""
        return [] if self.differences is None else _reasons(self.differences)

    def _parts(self) -> Iterator[ResultPart]:
        """Show each ledger before, predicted and after, and each difference with its cause."""
        exact = LedgerChanges.exact(self.changes).frame
        amounts = [name for name in ("before", "predicted", "after") if name in exact]
        lines = [
            f"- {row['name']}: {', '.join(f'{format_amount(row[name])} {name}' for name in amounts)}"
            for row in exact.to_dict("records")
        ]
        yield ResultPart(lines, exact.drop(columns="ledger_id"), rest="ledgers; .frame has all")
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


class _Difference(NamedTuple):
    """A figure, or the lines of a journal entry, that differ from the prediction by some units."""

    what: str
    ledger_id: str | None
    units: int
    cause: str
    journal_entry_id: str | None = None
    transaction_ids: str | None = None


@dataclass(frozen=True)
class _Prediction:
    """The changes of a plan, and the figures of the report that they change."""

    plan: tuple[Change, ...]
    before: _Figures
    scale: int
    as_decimals: bool

    @cached_property
    def changes(self) -> Counter[str]:
        """Change of the net cash flow of each ledger that the plan moves lines from or to."""
        updated, changes = _updated(self.plan), Counter[str]()
        for (entry, ledger_id), units in self.before.lines.items():
            if (entry, ledger_id) in updated:
                changes[ledger_id] -= units
                changes[updated[entry, ledger_id]] += units
        return changes

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

    def differences(self, after: _Figures, states: Sequence[Outcome] | None) -> pd.DataFrame:
        """Tabulate what differs from the prediction, given the outcomes of the changes where they are known."""
        before, names = self.before, self._names() | after.names
        missing = Counter({one: after.flows[one] - before.flows[one] - self.changes[one] for one in names})
        of_balances = [
            _Difference(what, one, after.balances[what, one] - before.balances[what, one], "balance_changed")
            for what, one in _differing(before.balances, after.balances)
        ]
        of_lines = list(self._line_differences(after.lines, states))
        for one in of_lines:
            missing[str(one.ledger_id)] -= one.units
        not_shown = [_Difference("net_cash_flow", one, missing[one], "not_shown") for one in missing if missing[one]]
        found = [*of_balances, *of_lines, *not_shown]
        columns: dict[str, list[Any]] = {
            "what": [one.what for one in found],
            "ledger_id": [one.ledger_id for one in found],
            "ledger_name": [one.ledger_id and names.get(one.ledger_id, one.ledger_id) for one in found],
            "journal_entry_id": [one.journal_entry_id for one in found],
            "transaction_ids": [one.transaction_ids for one in found],
            "difference": [from_minor_units(one.units, self.scale) for one in found],
            "cause": [one.cause for one in found],
        }
        return ReportDifferences.from_columns(columns, self.scale, as_decimals=self.as_decimals)

    def notes(self, period: Period) -> Iterator[str]:
        """Sentences about items that change nothing, or that cannot be undone."""
        absent = [one.transaction_id for one in self.plan if one.category_line not in self.before.lines]
        if absent:
            yield (
                f"{len(absent):,} of {count_of(len(self.plan), 'item')} would change nothing in the report of "
                f"{period}, because their lines are outside the period or no longer have the expected category: "
                f"{join_ids(absent)}."
            )
        merging = [change.transaction_id for change in joining_changes(self.plan)]
        if merging:
            yield (
                f"{len(merging):,} of {count_of(len(self.plan), 'item')} would join a part of a split with another "
                f"part; the parts cannot be distinguished afterwards, so this cannot be undone: {join_ids(merging)}. "
                "They are refused unless allow_irreversible is set (--allow-irreversible)."
            )

    def _line_differences(self, after: Lines, states: Sequence[Outcome] | None) -> Iterator[_Difference]:
        """Yield the lines that differ, each with its cause; without outcomes no change is known to be done."""
        outcomes = [Outcome.WOULD_CHANGE] * len(self.plan) if states is None else states
        in_entry: dict[str, list[Change]] = defaultdict(list)
        not_done: dict[str, dict[Change, Outcome]] = defaultdict(dict)
        for change, outcome in zip(self.plan, outcomes, strict=True):
            in_entry[change.journal_entry_id].append(change)
            if outcome not in IN_BOOKS:
                not_done[change.journal_entry_id][change] = outcome
        done = [change for change in self.plan if change not in not_done[change.journal_entry_id]]
        predicted, completed = self._moved(self.plan), self._moved(done)
        otherwise = {entry for entry, _ in _differing(completed, after)}
        old, new = ({entry for entry, _ in lines} for lines in (self.before.lines, after))
        for entry, ledger_id in _differing(predicted, after):
            open_changes = not_done[entry]
            if entry not in old:
                cause = "new_entry"
            elif entry not in new:
                cause = "missing_entry"
            elif open_changes and entry not in otherwise:
                first = next(iter(open_changes.values()))
                cause = Outcome.NOT_DONE if first in _NOT_SENT else first
            else:
                cause = Outcome.CHANGED_ELSEWHERE
            ids = dict.fromkeys(change.transaction_id for change in open_changes or in_entry[entry])
            units = after[entry, ledger_id] - predicted[entry, ledger_id]
            yield _Difference("net_cash_flow", ledger_id, units, cause, entry, LIST_SEPARATOR.join(ids) or None)

    def _moved(self, changes: Iterable[Change]) -> Lines:
        """Lines of the report before, with some changes made."""
        updated, lines = _updated(changes), Counter[tuple[str, str]]()
        for (entry, ledger_id), units in self.before.lines.items():
            lines[entry, updated.get((entry, ledger_id), ledger_id)] += units
        return lines

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
        amounts = {name: [from_minor_units(one, self.scale) for one in column] for name, column in units.items()}
        columns: dict[str, list[Any]] = {"ledger_id": ids, "name": [names.get(one, one) for one in ids], **amounts}
        return LedgerChanges.from_columns(columns, self.scale, as_decimals=self.as_decimals)


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
    cause = _CAUSES[first["cause"]].format(
        items=count_of(len(ids), "item"),
        entries=count_of(len(ids), "journal entry"),
        new_entries=count_of(len(ids), "new journal entry"),
        ids=join_ids(ids, limit=_MAX_IDS),
    )
    return f"{_TITLES[first['what']].format(ledger_name=first['ledger_name'])}: {than}: {cause}"


def _updated(changes: Iterable[Change]) -> dict[tuple[str, str], str]:
    """Find the new category of each line, by its entry and category."""
    return {change.category_line: change.updated_category_ledger_id for change in changes}


def _differing(one: Counter[Any], other: Counter[Any]) -> list[Any]:
    """Keys whose units differ."""
    return [key for key in {**one, **other} if one[key] != other[key]]


def _rows(table: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Rows of some columns."""
    return zip(*(table[name].tolist() for name in names), strict=True)  # Arrow columns are slow to iterate
