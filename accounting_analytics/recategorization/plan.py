"""Recategorization plan: which transaction gets which category, as a table to review and a file to edit."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from decimal import Decimal, localcontext
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import InputError, PlanError
from accounting_analytics.frame_columns import split_list
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.loader.load_estimate import DOCUMENTED_RATE
from accounting_analytics.messages import TERMINAL_WIDTH, fit_terminal, join_ids, printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.recategorization.new_categories import (
    DiscoveredCategory,
    WrittenCategory,
    differently_named,
    refuse_items,
    resolved_proposals,
)
from accounting_analytics.recategorization.plan_conflicts import find_conflicts
from accounting_analytics.recategorization.plan_file import PlanFile, require_same_instance, write_items
from accounting_analytics.recategorization.root_totals import predict_root_totals
from accounting_analytics.recategorization.split_joins import joining_items
from accounting_analytics.schemas import PlanItems, PlanPreview

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.recategorization.new_categories import NewCategory


class PlanItem(NamedTuple):
    """One item of a plan.

    `planned_ledger_ids` are the new categories of all items of its journal entry.
    """

    transaction_id: str
    ledger_id: str
    category_ledger_id: str
    updated_category_ledger_id: str
    updated_category_ledger_name: str
    journal_entry_id: str
    datetime: dt.datetime
    opposing_ledger_ids: frozenset[str]
    planned_ledger_ids: frozenset[str]


_IDENTITY = list(PlanItem._fields[:4])
_READABLE = ["description", "amount", "updated_category_ledger_name"]
_AMOUNTS = ("amount", "category_amount")
_MAX_ROWS, _MAX_COLUMN_WIDTH = 20, 28


class Plan:
    """A recategorization plan. It is immutable: create a new one from an edited frame or file.

    Parameters
    ----------
    frame : DataFrame
        :class:`~accounting_analytics.schemas.PlanItems`.
    instance_id : str, optional
        Service instance of the books; the plan is then refused for any other instance.
    notes : sequence of str
        What is not known, or was ignored.

    Raises
    ------
    PlanError
        An item changes nothing or appears twice, or items contradict each other.
    """

    def __init__(self, frame: pd.DataFrame, *, instance_id: str | None = None, notes: Sequence[str] = ()) -> None:
        exact = PlanItems.exact(frame)
        self._frame = exact.frame.reset_index(drop=True)
        self._scale, self._as_decimals = exact.scale, exact.as_decimals
        self.instance_id = instance_id
        self._notes = tuple(notes)
        for conflict in find_conflicts(self._frame):
            raise PlanError(conflict.reason)

    def __len__(self) -> int:
        return len(self._frame)

    def __repr__(self) -> str:
        table = _with_printed_amounts(self._frame)[_READABLE].to_string(
            index=False, max_rows=_MAX_ROWS, max_colwidth=_MAX_COLUMN_WIDTH, line_width=TERMINAL_WIDTH
        )
        rows = table.splitlines() if len(self) else []
        return fit_terminal("\n".join([self.summary(), *map(printable, [*self.notes, *rows])]))

    @property
    def frame(self) -> pd.DataFrame:
        """The items as a table (a copy)."""
        return PlanItems.from_exact(self._frame.copy(), self._scale, as_decimals=self._as_decimals)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not known, or was ignored in the plan file; one sentence each."""
        return self._notes

    def summary(self) -> str:
        """One line: the id of the plan and the number of its items."""
        return f"Recategorization plan {self.plan_id}: {len(self):,} item(s)"

    @property
    def minutes(self) -> float:
        """How long applying the plan takes, at least: one request per item, at the documented rate limit."""
        return len(self) / DOCUMENTED_RATE

    @cached_property
    def items(self) -> tuple[PlanItem, ...]:
        """The items, in the order of the plan."""
        frame = self._frame
        planned: dict[str, set[str]] = defaultdict(set)
        for entry_id, ledger_id in zip(frame["journal_entry_id"], frame["updated_category_ledger_id"], strict=True):
            planned[entry_id].add(ledger_id)
        columns: dict[str, Iterable[Any]] = {name: frame[name] for name in PlanItem._fields if name in frame}
        columns["opposing_ledger_ids"] = frame["opposing_ledger_ids"].map(split_list).map(frozenset)
        columns["planned_ledger_ids"] = [frozenset(planned[entry_id]) for entry_id in frame["journal_entry_id"]]
        return tuple(PlanItem(*row) for row in zip(*columns.values(), strict=True))

    @property
    def plan_id(self) -> str:
        """Fingerprint of the changes, independent of their order; a journal belongs to one plan."""
        content = sorted(self._frame[_IDENTITY].to_numpy().tolist())
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def require_instance(self, instance_id: str) -> None:
        """Refuse an instance that the plan was not made for; a plan without instance is valid for any."""
        require_same_instance(self.instance_id, instance_id)

    def preview(self, report: CashFlowReport) -> pd.DataFrame:
        """Predict how the plan changes the net cash flow of each ledger of a report.

        Parameters
        ----------
        report : CashFlowReport
            The report before the plan is applied; untagged.

        Returns
        -------
        DataFrame
            :class:`~accounting_analytics.schemas.PlanPreview`, one row per ledger that changes. The changes sum to
            zero. ``attrs["notes"]`` names items that change nothing in this report, and those that cannot be undone
            individually.

        Raises
        ------
        InputError
            `report` is not a report, or is filtered by tags.
        PlanError
            A new category is a cash ledger of the report, or has another name there than in the plan.
        """
        _require_untagged(report)
        self._require_categories_of(report)
        as_decimals, report = report.as_decimals, report.exact()
        moves = self._moved_lines(report)
        columns = self._predict(report, _sum_changes(moves, report.scale))
        preview = PlanPreview.from_columns(columns, report.scale, as_decimals=as_decimals)
        preview.attrs["notes"] = tuple(self._preview_notes(report, moves))
        return preview

    def preview_root_totals(self, report: CashFlowReport, ledgers: pd.DataFrame) -> pd.DataFrame:
        """Predict the totals of a report at the roots of the chart of accounts, such as all expenses.

        Parameters
        ----------
        report : CashFlowReport
            The report before the plan is applied; untagged.
        ledgers : DataFrame
            :class:`~accounting_analytics.schemas.Ledgers`, which state the parents.

        Returns
        -------
        DataFrame
            :class:`~accounting_analytics.schemas.RootTotals`, one row per root above the ledgers that change.
            ``attrs["notes"]`` names ledgers whose parents are not known.

        Raises
        ------
        InputError
            An argument is of another type, or the report is filtered by tags.
        """
        _require_untagged(report)
        require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
        return predict_root_totals(self.predicted_changes(report.exact()), report, ledgers)

    def predicted_changes(self, report: CashFlowReport) -> dict[str, Decimal]:
        """Change of the net cash flow of each ledger that the plan moves lines from or to.

        Parameters
        ----------
        report : CashFlowReport
            The report before the plan is applied, :meth:`~accounting_analytics.CashFlowReport.exact`.
        """
        return _sum_changes(self._moved_lines(report), report.scale)

    def save(self, path: str | Path) -> None:
        """Write the plan to a file that a spreadsheet can edit, completely or not at all.

        Parameters
        ----------
        path : path
            A file ending in ``.xlsx`` becomes an Excel workbook, which needs the extra ``excel``; any other CSV. In a
            workbook ids stay text, whatever a spreadsheet does; amounts are numbers, and instants are dates in UTC.

        Raises
        ------
        PlanError
            The file cannot be written, or a workbook cannot hold the plan.
        """
        write_items(self._frame, path, instance_id=self.instance_id)

    @classmethod
    def load(cls, path: str | Path, *, ledgers: pd.DataFrame | None = None) -> Self:
        """Read a plan file, which a spreadsheet may have edited and saved.

        Rows may be deleted and sorted, columns moved and added, and new categories changed. A CSV file may be separated
        by commas, semicolons or tabs, in UTF-8 or UTF-16, with amounts and dates as the spreadsheet writes them. What
        is not certain, such as ``3/4/2026`` in a column without a day above 12, or an id that became a number, is
        refused. Amounts are float64, or Arrow decimals if one has too many digits for float64.

        Parameters
        ----------
        path : path
            A file written by :meth:`save`: CSV or ``.xlsx``, recognised by its content.
        ledgers : DataFrame, optional
            :class:`~accounting_analytics.schemas.Ledgers`. A new category may then be an id, a unique name or a path,
            in ``updated_category_ledger_id`` or ``updated_category_ledger_name``; clear the other, or let both mean
            the same ledger. Without it both are required, and change together.

        Returns
        -------
        Plan
            ``notes`` states what was ignored, and with `ledgers` which new categories are parent ledgers.

        Raises
        ------
        PlanError
            The file is not a plan, or rows are invalid; the message has the row, the column and the reason of each.
        """
        category = WrittenCategory() if ledgers is None else DiscoveredCategory(ledgers)
        return cls.from_file(PlanFile.read(path), category)

    @classmethod
    def from_file(cls, file: PlanFile, category: NewCategory) -> Self:
        """Plan of a file that was read, with the new categories that `category` determines."""
        items = file.items(category)
        notes = (*file.notes, *category.notes(items["updated_category_ledger_id"]))
        return cls(items, instance_id=file.instance_id, notes=notes)

    def _require_categories_of(self, report: CashFlowReport) -> None:
        """Refuse new categories that the report shows to be cash, or to have another name than in the plan."""
        names = LedgerNames(dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True)), Hierarchy({}))
        refused = differently_named(self.items, names)
        cash = {*report.starting_balances["ledger_id"], *report.ending_balances["ledger_id"]}
        refused |= {
            item: f"ledger {item.updated_category_ledger_id} reports cash flow and cannot be a category"
            for item in self.items
            if item.updated_category_ledger_id in cash
        }
        refuse_items(refused, len(self))

    def _moved_lines(self, report: CashFlowReport) -> pd.DataFrame:
        """Report lines that the plan moves, with their new ledger."""
        keys = self._frame[["journal_entry_id", "category_ledger_id", "updated_category_ledger_id"]].drop_duplicates()
        keys = keys.set_axis(["journal_entry_id", "ledger_id", "updated"], axis="columns")
        return report.lines.merge(keys, on=["journal_entry_id", "ledger_id"])

    def _predict(self, report: CashFlowReport, changes: Mapping[str, Decimal]) -> dict[str, list[Any]]:
        """Columns of the preview."""
        names = dict(
            zip(self._frame["updated_category_ledger_id"], self._frame["updated_category_ledger_name"], strict=True)
        ) | dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        before = dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))
        zero = Decimal(0).scaleb(-report.scale)
        changing = sorted(((change, ledger_id) for ledger_id, change in changes.items() if change))
        with localcontext(EXACT):
            after = [before.get(ledger_id, zero) + change for change, ledger_id in changing]
        return {
            "ledger_id": [ledger_id for _, ledger_id in changing],
            "name": [names.get(ledger_id, ledger_id) for _, ledger_id in changing],
            "net_cash_flow": [before.get(ledger_id, zero) for _, ledger_id in changing],
            "change": [change for change, _ in changing],
            "net_cash_flow_after": after,
        }

    def _preview_notes(self, report: CashFlowReport, moves: pd.DataFrame) -> Iterator[str]:
        moved = set(zip(moves["journal_entry_id"], moves["ledger_id"], strict=True))
        absent = [
            item.transaction_id for item in self.items if (item.journal_entry_id, item.category_ledger_id) not in moved
        ]
        if absent:
            yield (
                f"{len(absent):,} of {len(self):,} item(s) change nothing in the report of {report.period}, because "
                f"their lines are outside the period or no longer have the expected category: {join_ids(absent)}."
            )
        merging = [item.transaction_id for item in joining_items(self.items)]
        if merging:
            yield (
                f"{len(merging):,} of {len(self):,} item(s) join a part of a split with another part; the parts cannot "
                f"be distinguished afterwards, so this cannot be undone: {join_ids(merging)}. They are refused unless "
                "allow_irreversible is set (--allow-irreversible)."
            )

    def _repr_html_(self) -> str:
        names_first = [*_READABLE, *self._frame.columns.difference(_READABLE, sort=False)]
        first = self._frame.head(_MAX_ROWS)
        table = _with_printed_amounts(first)[names_first].to_html(index=False, escape=True)
        more = f"<p>{len(first):,} of {len(self):,} items; .frame has all</p>" if len(first) < len(self) else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p>{self.summary()}</p>{notes}{table}{more}"


def plan_recategorization(proposals: pd.DataFrame, *, ledgers: pd.DataFrame, instance_id: str | None = None) -> Plan:
    """Create a plan from proposals; nothing is sent to the service.

    Parameters
    ----------
    proposals : DataFrame
        :class:`~accounting_analytics.schemas.Proposals`; remove the rows you do not want. To choose another category,
        write its id, unique name or path to ``updated_category_ledger_id`` or ``updated_category_ledger_name`` and
        clear the other (None).
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; every new category must be in it.
    instance_id : str, optional
        Service instance of the books (``client.instance_id``); the plan is then refused for any other instance.

    Raises
    ------
    InputError
        An argument is not a DataFrame.
    PlanError
        A new category is not in `ledgers`, is ambiguous, reports cash flow or equals the current one, the id and the
        name in a row are of different ledgers, or two items contradict each other.
    """
    require_type(proposals, pd.DataFrame, "proposals", "propose(queue, rules, ledgers) returns them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    resolved = resolved_proposals(proposals, ledgers)
    columns = list(PlanItems.to_schema().columns)
    return Plan(resolved[columns], instance_id=instance_id)


def _with_printed_amounts(frame: pd.DataFrame) -> pd.DataFrame:
    """Items with their exact amounts as text for people."""
    return frame.assign(
        **{name: ["" if pd.isna(one) else format_amount(one) for one in frame[name]] for name in _AMOUNTS}
    )


def _sum_changes(moves: pd.DataFrame, scale: int) -> dict[str, Decimal]:
    """Sum the change of the net cash flow of each ledger."""
    zero = Decimal(0).scaleb(-scale)
    changes: dict[str, Decimal] = defaultdict(lambda: zero)
    with localcontext(EXACT):
        for category, updated, amount in zip(moves["ledger_id"], moves["updated"], moves["amount"], strict=True):
            changes[category] -= amount
            changes[updated] += amount
    return changes


def _require_untagged(report: CashFlowReport) -> None:
    """Refuse what is not a report, and a report that is filtered by tags."""
    require_report(report, "report")
    if report.tag_ids:
        msg = "a report filtered by tags does not contain all lines; preview the plan on the untagged report"
        raise InputError(msg)


def require_plan(value: object) -> None:
    """Refuse an argument that is not a plan.

    Raises
    ------
    InputError
        It is of another type, such as the path of a plan file.
    """
    require_type(
        value, Plan, "plan", "plan_recategorization(proposals, ledgers=...) makes one, Plan.load(path) reads one"
    )
