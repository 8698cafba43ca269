"""Effect of a plan on the cash flow report: the prediction, and its check after the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.errors import BooksDoNotTieError, InputError
from accounting_analytics.core.load_metadata import books_notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import LedgerChanges, Ledgers, ReportDifferences
from accounting_analytics.recategorization.changes import joining_changes, name_changes, net_moves, updated_lines
from accounting_analytics.recategorization.outcomes import IN_BOOKS, require_outcomes_of
from accounting_analytics.reports.books.ledger_tree import LedgerTree, Trees
from accounting_analytics.reports.figures.cash_flow_report import require_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.core.periods import Period
    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_ALL_KNOWN = Trees(set(), set(), set())
"""Trees that are all complete: each root has its own total, and a note says if a tree may be part of another tree."""
_MAX_REASONS = 3
_FLOW = "net_cash_flow"
_TITLES = {
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "starting_balance": "starting balance of {ledger_name}",
    "ending_balance": "ending balance of {ledger_name}",
    _FLOW: "net cash flow of {ledger_name}",
}
"""Figures that are compared, in the order of differences."""
_BALANCE_CHANGED = "recategorizing cannot change it; another user posted, changed or deleted entries"
_CHANGED_ELSEWHERE = "another user changed, added or deleted entries"
_WHAT_TO_DO = (
    "Ask who changed the books of these days in the meantime, and verify the plan with its journal, which reads its "
    "transactions again; undoing the run takes back its own changes only"
)


@dataclass(frozen=True, repr=False, eq=False)
class Effect(Result):
    """Result of :meth:`Plan.preview`, and of :meth:`Effect.check`.

    Parameters
    ----------
    plan : tuple of Change
        The changes of the plan.
    made : tuple of Change
        Those that are expected to be in the books after the run.
    before : CashFlowReport
        The report before the run; untagged.
    after : CashFlowReport, optional
        The report after the run.
    """

    plan: tuple[Change, ...]
    made: tuple[Change, ...]
    before: CashFlowReport
    after: CashFlowReport | None = None

    def check(self, after: CashFlowReport, outcomes: pd.DataFrame | None = None) -> Effect:
        """Compare the report after a run with the predicted report.

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
        if outcomes is None:
            return replace(self, after=after)
        found = zip(self.plan, require_outcomes_of(self.plan, outcomes), strict=True)
        lines = _ReportUnits.of(after).lines
        made = tuple(change for change, outcome in found if outcome in IN_BOOKS or _shows(lines, change))
        return replace(self, after=after, made=made)

    @property
    def period(self) -> Period:
        """The period of the reports."""
        return self.before.period

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.LedgerChanges`: the ledgers that change, before and as predicted.

        After the check it also has each amount after the run, and ledgers that changed otherwise.
        """
        return LedgerChanges.with_floats(self.exact().changes)

    def exact(self) -> EffectTables:
        """Return the ledgers that change, and the figures that are not as predicted, with Arrow decimals."""
        return EffectTables(self._changes, self._differences)

    @cached_property
    def _changes(self) -> pd.DataFrame:
        before, after = self._before.flows, self._after and self._after.flows
        listed = {ledger_id for ledger_id, units in self._moved.items() if units}
        if after is not None:
            listed |= {ledger_id for ledger_id in before.keys() | after.keys() if before[ledger_id] != after[ledger_id]}
        return self._table(listed, self._names, before, self._moved, after)

    @property
    def differences(self) -> pd.DataFrame | None:
        """:class:`~accounting_analytics.schemas.ReportDifferences`: the figures that are not as predicted, and why.

        Balances come first. It is None until the effect is checked.
        """
        return None if self._differences is None else ReportDifferences.with_floats(self._differences)

    @cached_property
    def _differences(self) -> pd.DataFrame | None:
        if self._after is None:
            return None
        after, predicted = self._after.amounts, Counter(self._before.amounts)
        predicted.update({(_FLOW, ledger_id): units for ledger_id, units in self._moved.items()})
        differing = [key for key in {**predicted, **after} if after[key] != predicted[key]]
        rows: list[tuple[Any, ...]] = []
        for what, ledger_id in sorted(differing, key=lambda key: list(_TITLES).index(key[0])):
            difference = from_minor_units(after[what, ledger_id] - predicted[what, ledger_id], self.before.scale)
            name = ledger_id and self._names.get(ledger_id, ledger_id)
            reason = (
                f"{_TITLES[what].format(ledger_name=name)}: {format_amount(difference.copy_abs())} "
                f"{'more' if difference > 0 else 'less'} than predicted: "
                f"{_CHANGED_ELSEWHERE if what == _FLOW else _BALANCE_CHANGED}"
            )
            rows.append((what, ledger_id, name, difference, reason))
        return ReportDifferences.exact_from_rows(rows, self.before.scale)

    @property
    def as_predicted(self) -> bool | None:
        """True if every figure is exactly as predicted, or None until the effect is checked."""
        return None if self._differences is None else not self._reasons

    @property
    def _reasons(self) -> list[str]:
        """Write sentences about the figures that are not as predicted."""
        return [] if self._differences is None else self._differences["reason"].tolist()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on items that change nothing in the report, and on items that cannot be undone individually."""
        return (*self._notes_of_items(), *books_notes(self.before.exact().ledgers))

    def _notes_of_items(self) -> Iterator[str]:
        of_all = count_of(len(self.plan), "item")
        absent = [change for change in self.plan if change.category_line not in self._before.lines]
        if absent:
            yield (
                f"{len(absent):,} of {of_all} would change nothing in the report of {period_label(self.period)}, "
                "because their lines are outside the period or no longer have the expected category: "
                f"{name_changes(absent)}."
            )
        joining = joining_changes(self.plan)
        if joining:
            yield (
                f"{len(joining):,} of {of_all} would join a part of a split with another "
                f"part; the parts cannot be distinguished afterwards, so this cannot be undone: {name_changes(joining)}"
                ". They are refused unless allow_irreversible is set (--allow-irreversible)."
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
        tree = LedgerTree.from_frame(Ledgers.checked(ledgers))
        before, changes = (tree.totals(own, _ALL_KNOWN) for own in (self._before.flows, self._moved))
        roots = {tree.hierarchy.root(ledger_id) for ledger_id in self._moved}
        totals = LedgerChanges.with_floats(self._table(roots, tree.names, {**before, **self._before.totals}, changes))
        known = tree.names.keys() - tree.without_known_parent
        unknown = [
            tree.names.get(ledger_id, ledger_id)
            for ledger_id in self._moved
            if not {ledger_id, *tree.hierarchy.ancestors(ledger_id)} <= known
        ]
        note = (
            f"The parents of {count_of(len(unknown), 'ledger')} to be changed are not known, so each is a total of its "
            f"own, and the totals above them may be incomplete: {join_ids(unknown)}."
        )
        totals.attrs["notes"] = (note,) if unknown else ()
        return totals

    def raise_for_unexpected(self) -> None:
        """Raise if the report changed otherwise than predicted.

        Raises
        ------
        BooksDoNotTieError
            A balance changed, or a ledger changed by another amount than predicted; the message has the first, and
            ``differences`` all.
        """
        reasons = self._reasons
        more = f" (and {len(reasons) - _MAX_REASONS:,} more)" if len(reasons) > _MAX_REASONS else ""
        if reasons:
            raise BooksDoNotTieError(
                f"{self._items_in_books(', but ')}the report of {period_label(self.period)} did not change as planned: "
                f"{'; '.join(reasons[:_MAX_REASONS])}{more}. {_WHAT_TO_DO}"
            )

    def _items_in_books(self, end: str) -> str:
        """Say how many items are in the books.

        If all items are in the books, return "".
        """
        made = len(self.made)
        return f"{made:,} of {count_of(len(self.plan), 'item')} in the books{end}" if made < len(self.plan) else ""

    def summary(self) -> str:
        """One line of text: how many ledgers change, and after the check, whether all figures are as predicted."""
        title = f"Cash flow report, {period_label(self.period)}"
        if self._after is None:
            return f"{title}: {count_of(len(self._changes), 'ledger changes', 'ledgers change')}."
        changed = int((self._changes["before"] != self._changes["after"]).sum())
        verdict = f"{count_of(len(self._reasons), 'figure differs', 'figures differ')} from the prediction"
        if self.as_predicted:
            verdict = "every figure is as predicted, to the last digit"
        return f"{title}: {self._items_in_books('; ')}{count_of(changed, 'ledger')} changed; {verdict}."

    def _parts(self) -> Iterator[ResultPart]:
        """Show the amounts of each ledger, and each difference.

        The amounts are before, predicted and after.
        """
        exact = self._changes
        amounts = [name for name in ("before", "predicted", "after") if name in exact]
        lines = [
            f"- {row['name']}: {', '.join(f'{format_amount(row[name])} {name}' for name in amounts)}"
            for row in exact.to_dict("records")
        ]
        yield ResultPart(lines, exact.drop(columns="ledger_id"), rest="ledgers; .frame has all")
        table = pd.DataFrame({"not as predicted": self._reasons})
        yield ResultPart([f"- {reason}" for reason in self._reasons], table, rest="figures; .differences has all")

    def _content(self) -> dict[str, Any]:
        return asdict(self.period) | {
            "as_predicted": self.as_predicted,
            **self.exact()._asdict(),
        }

    @cached_property
    def _before(self) -> _ReportUnits:
        return _ReportUnits.of(self.before)

    @cached_property
    def _after(self) -> _ReportUnits | None:
        return None if self.after is None else _ReportUnits.of(self.after)

    @cached_property
    def _moved(self) -> Counter[str]:
        """Sum each ledger's change of net cash flow.

        Only lines that the plan moves count.
        """
        updated = updated_lines(self.made)
        lines = self._before.lines.items()
        return net_moves((line[1], updated[line], units) for line, units in lines if line in updated)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names of ledgers: those in the reports, else those in the plan."""
        planned = {change.updated_category_ledger_id: change.updated_category_ledger_name for change in self.plan}
        return planned | self._before.names | (self._after.names if self._after else {})

    def _table(
        self,
        ledger_ids: Iterable[str],
        names: Mapping[str, str],
        before: Mapping[str, int | None],
        changes: Mapping[str, int | None],
        after: Mapping[str, int] | None = None,
    ) -> pd.DataFrame:
        """Tabulate ledgers by predicted change, the largest decrease first."""
        rows = sorted((changes.get(ledger_id) or 0, ledger_id, before.get(ledger_id) or 0) for ledger_id in ledger_ids)
        units = {
            "before": [first for _, _, first in rows],
            "change": [change for change, _, _ in rows],
            "predicted": [first + change for change, _, first in rows],
        }
        if after is not None:
            units["after"] = [after.get(ledger_id, 0) for _, ledger_id, _ in rows]
        scale = self.before.scale
        columns: dict[str, list[Any]] = {
            "ledger_id": [ledger_id for _, ledger_id, _ in rows],
            "name": [names.get(ledger_id, ledger_id) for _, ledger_id, _ in rows],
            **{name: [from_minor_units(amount, scale) for amount in column] for name, column in units.items()},
        }
        return LedgerChanges.exact_from_columns(columns, scale)


class EffectTables(NamedTuple):
    """Tables of an effect with Arrow decimals. `differences` is None until the effect is checked."""

    changes: pd.DataFrame
    differences: pd.DataFrame | None


class _ReportUnits(NamedTuple):
    """Figures of a report in minor units, and its ledgers' names.

    A key of `amounts` is a kind and a ledger, where None means the sum of all accounts. A key of `lines` is a journal
    entry and a ledger, also if their lines sum to zero. `totals` are the totals that the report states.
    """

    amounts: Counter[tuple[str, str | None]]
    totals: dict[str, int]
    lines: Counter[tuple[str, str]]
    names: dict[str, str]

    @classmethod
    def of(cls, report: CashFlowReport) -> Self:
        exact, units = report.exact(), partial(to_minor_units, scale=report.scale)
        names: dict[str, str] = {}
        amounts = Counter[tuple[str, str | None]]()
        for what in ("starting_cash_balance", "ending_cash_balance"):
            amounts[what, None] = units(getattr(exact, what))
        for what, table, *columns in (
            ("starting_balance", exact.starting_balances, "ledger_name", "cash_balance"),
            ("ending_balance", exact.ending_balances, "ledger_name", "cash_balance"),
            (_FLOW, exact.ledgers, "name", _FLOW),
        ):
            for ledger_id, name, amount in _rows(table, "ledger_id", *columns):
                names[ledger_id], amounts[what, ledger_id] = name, units(amount)
        stated = exact.ledgers.dropna(subset="total_net_cash_flow")
        totals = {ledger_id: units(total) for ledger_id, total in _rows(stated, "ledger_id", "total_net_cash_flow")}
        lines = Counter[tuple[str, str]]()
        for entry, ledger_id, amount in _rows(exact.lines, "journal_entry_id", "ledger_id", "amount"):
            lines[entry, ledger_id] += units(amount)
        return cls(amounts, totals, lines, names)

    @property
    def flows(self) -> Counter[str]:
        """Return the net cash flow of each ledger."""
        return Counter(
            {
                ledger_id: units
                for (what, ledger_id), units in self.amounts.items()
                if what == _FLOW and ledger_id is not None
            }
        )


def _shows(lines: Counter[tuple[str, str]], change: Change) -> bool:
    """Return whether the lines of a report show a change."""
    return change.category_line not in lines and (change.journal_entry_id, change.updated_category_ledger_id) in lines


def _rows(table: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Iterate over the rows of some columns."""
    return zip(*(table[name].tolist() for name in names), strict=True)  # iterating over Arrow columns is slow
