"""Recategorization plan: the new category of each transaction, as table and file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.edited_files import Column, Kind, read_table, write_table
from accounting_analytics.core.errors import InputError, PlanError, RulesError
from accounting_analytics.core.load_metadata import books_notes
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import DEFAULT_SCALE, format_amount, fraction_digits, sum_by_key
from accounting_analytics.core.periods import as_utc
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import PlanItems, PlanTotals
from accounting_analytics.core.workbook import workbook_text
from accounting_analytics.loading.estimate import DOCUMENTED_RATE
from accounting_analytics.recategorization.changes import (
    NEW_CATEGORY,
    Change,
    changes_of_frame,
    changes_of_proposals,
    find_conflicts,
    joining_changes,
)
from accounting_analytics.recategorization.effect import Effect
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.outcomes import EXPECTED_OUTCOMES, require_outcomes_of
from accounting_analytics.recategorization.proposals import choose_by_rules
from accounting_analytics.recategorization.queue import KEY
from accounting_analytics.reports.books.category_ledgers import Categories
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.cash_flow_report import require_report

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from accounting_analytics.recategorization.rules import Rules
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_INSTANCE, _DIGEST = "instance_id", "digest"
_AMOUNTS = ("transaction_amount", "uncategorized_amount")
_OPTIONAL_IDS = ("group_id", _INSTANCE)
_IDS = (
    *("transaction_id", "ledger_id", "journal_entry_id", "category_ledger_id", "opposing_ledger_ids"),
    *(NEW_CATEGORY[0], *_OPTIONAL_IDS),
)
_MAY_BE_EMPTY = frozenset({"description", NEW_CATEGORY[1], *_OPTIONAL_IDS})
_KINDS = dict.fromkeys(_IDS, Kind.ID) | dict.fromkeys(_AMOUNTS, Kind.AMOUNT) | {"datetime": Kind.INSTANT}
_TOTALS_BY = {"rule": ["rule"], "category": [*NEW_CATEGORY]}
_SHOWN = [
    "datetime", "description", "transaction_amount", "updated_category_ledger_name", "rule", "transaction_id"
]  # fmt: skip
_MAX_ROWS = 20
NOT_PLANNED = "not in the plan"
"""Reason of a transaction that rules decide, but that the resumed plan does not contain."""


def _digest(items: Iterable[Change], instance_id: str | None) -> str:
    """Hash a plan's content, independent of row order and spreadsheet formats."""
    rows = sorted([_canonical(getattr(item, name)) for name in PlanItems.dtypes()] for item in items)
    return hashlib.sha256(json.dumps([instance_id or "", rows]).encode()).hexdigest()


def _canonical(value: str | Decimal | dt.datetime) -> str:
    if isinstance(value, str):
        return " ".join(workbook_text(value).split())
    return str(value.as_integer_ratio()) if isinstance(value, Decimal) else as_utc(value).isoformat()


class Plan(Result):
    """A recategorization plan. It is immutable: create a new one from other decisions, or an edited frame.

    Parameters
    ----------
    items : iterable of Change
        The changes; :func:`plan_recategorization` makes them of proposals, and :meth:`from_frame` of an edited table.
    scale : int
        Number of decimal places of its amounts.
    instance_id : str, optional
        Service instance of the books; the plan is then refused for any other instance.
    notes : sequence of str
        What is not known.
    left_out : sequence of Change
        The changes of a run that :func:`undo_plan` leaves out.

    Raises
    ------
    PlanError
        An item changes nothing or appears twice, or items contradict each other.

    Attributes
    ----------
    items : tuple of Change
        The changes, in the order of the plan.
    left_out : tuple of Change
        The changes of a run that :func:`undo_plan` leaves out; empty for any other plan.
    notes : tuple of str
        What is not known; one sentence each.
    """

    def __init__(
        self,
        items: Iterable[Change],
        *,
        scale: int = DEFAULT_SCALE,
        instance_id: str | None = None,
        notes: Iterable[str] = (),
        left_out: Iterable[Change] = (),
    ) -> None:
        if isinstance(items, pd.DataFrame):
            raise InputError("items is a DataFrame, not changes; Plan.from_frame(frame) makes a plan of a table")
        self.items, self.notes, self.left_out = tuple(items), tuple(notes), tuple(left_out)
        self.instance_id, self._scale = instance_id, scale
        for reason in find_conflicts(self.items):
            raise PlanError(reason)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, instance_id: str | None = None) -> Self:
        """Create a plan from an edited :attr:`frame` of another.

        Parameters
        ----------
        frame : DataFrame
            :class:`~accounting_analytics.schemas.PlanItems`.
        instance_id : str, optional
            Service instance of the books; the plan is then refused for any other instance.

        Raises
        ------
        PlanError
            An item changes nothing or appears twice, or items contradict each other.
        """
        exact = PlanItems.exact(frame)
        items = changes_of_frame(exact.frame)
        return cls(items, scale=exact.scale, instance_id=instance_id)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def frame(self) -> pd.DataFrame:
        """The items as a table (a copy)."""
        return PlanItems.with_floats(self.exact())

    def exact(self) -> pd.DataFrame:
        """Return the items as a table with Arrow decimals."""
        columns = {name: [getattr(item, name) for item in self.items] for name in PlanItems.dtypes()}
        return PlanItems.exact_from_columns(columns, self._scale)

    def summary(self, outcomes: pd.DataFrame | None = None) -> str:
        """One line of text: the id of the plan, the number of its items, and how many have each outcome.

        Parameters
        ----------
        outcomes : DataFrame, optional
            Result of :func:`apply_plan` or :func:`verify_plan` for this plan.

        Raises
        ------
        InputError
            The outcomes belong to another plan.
        """
        title = f"Recategorization plan {self.plan_id}: {count_of(len(self), 'item')}"
        if outcomes is None:
            return title
        counts = Counter(require_outcomes_of(self.items, outcomes)).most_common()
        return f"{title}: {', '.join(f'{count:,} {outcome}' for outcome, count in counts) or 'nothing to do'}"

    def totals(self, by: str = "category", outcomes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Count the items and sum their amounts exactly, by new category or by rule, and by outcome.

        Parameters
        ----------
        by : str
            ``"category"`` or ``"rule"``.
        outcomes : DataFrame, optional
            Result of :func:`apply_plan` or :func:`verify_plan` for this plan; without it there are no outcomes.

        Returns
        -------
        DataFrame
            :class:`~accounting_analytics.schemas.PlanTotals`: what is not done first, then the largest sum. An amount
            is what the items recategorize, positive into cash; if its part is not known, the whole counts.

        Raises
        ------
        InputError
            `by` is another text, or the outcomes are of another type or belong to another plan.
        """
        return PlanTotals.with_floats(self.exact_totals(by, outcomes))

    def exact_totals(self, by: str = "category", outcomes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the totals with Arrow decimals."""
        if by not in list(_TOTALS_BY):  # `by` may be a list, which cannot be a key
            raise InputError(f"by must be one of {', '.join(map(repr, _TOTALS_BY))}, not {by!r}")
        names, keys = _TOTALS_BY[by], [tuple(getattr(item, name) for name in _TOTALS_BY[by]) for item in self.items]
        if outcomes is not None:
            found = require_outcomes_of(self.items, outcomes)
            names, keys = [*names, "outcome"], [(*key, outcome) for key, outcome in zip(keys, found, strict=True)]
        sums = sum_by_key(zip(keys, (item.uncategorized_amount for item in self.items), strict=True))
        rows = [(*key, count, sums[key]) for key, count in Counter(keys).items()]
        rows.sort(key=lambda row: (row[-3] in EXPECTED_OUTCOMES, -row[-1].copy_abs(), row))
        named = [dict(zip((*names, "item_count", "amount"), row, strict=True)) for row in rows]
        return PlanTotals.exact_from_rows(named, self._scale)

    @property
    def minutes(self) -> float:
        """Least time that applying the plan takes: one request per item, at the documented rate limit."""
        return len(self) / DOCUMENTED_RATE

    @property
    def plan_id(self) -> str:
        """Fingerprint of the changes, independent of their order. A journal belongs to one plan."""
        content = sorted(change.identity for change in self.items)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def preview(self, before: CashFlowReport) -> Effect:
        """Predict how the plan changes a cash flow report.

        Parameters
        ----------
        before : CashFlowReport
            The report before the plan is applied; untagged.

        Returns
        -------
        Effect
            ``frame`` has one row per ledger that changes; the changes sum to zero. ``notes`` names items that change
            nothing in this report, and those that cannot be undone individually. :meth:`Effect.check` compares the
            report after the run with it.

        Raises
        ------
        InputError
            `before` is not a report, or is filtered by tags.
        """
        require_report(before, "before")
        if before.tag_ids:
            raise InputError(
                "a report filtered by tags does not contain all lines; preview the plan on the untagged report"
            )
        return Effect(self.items, self.items, before)

    def save(self, path: str | Path) -> None:
        """Write the plan to a file that a spreadsheet can show, completely or not at all.

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
        file, digest = to_path(path, "path"), _digest(self.items, self.instance_id)
        rows = self.exact().assign(**{_INSTANCE: self.instance_id or "", _DIGEST: digest})
        try:
            write_table(rows, file, name="plan", ids=_IDS, editable=())
        except InputError as error:
            raise PlanError(f"the plan was not saved: {error}") from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan file, as it was saved.

        A file that was edited is refused by its digest. For another plan, change the decisions and plan again.

        Parameters
        ----------
        path : path
            A file written by :meth:`save`: CSV or ``.xlsx``, recognised by its content.

        Raises
        ------
        PlanError
            The file is not a plan, cannot be read, or was edited.
        """
        names = [*PlanItems.dtypes(), _INSTANCE, _DIGEST]
        columns = [Column(name, _KINDS.get(name, Kind.TEXT), may_be_empty=name in _MAY_BE_EMPTY) for name in names]
        file = to_path(path, "path")
        try:
            sheet = read_table(file, columns, what="a plan")
        except InputError as error:
            raise PlanError(str(error)) from error
        sheet.problems.refuse(PlanError, effect="nothing was sent")
        rows = [row for _, row in sheet.rows()]
        items = [Change(**{name: row[name] for name in PlanItems.dtypes()}) for row in rows]
        instance_id = next((row[_INSTANCE] for row in rows), None) or None
        if {(row[_INSTANCE], row[_DIGEST]) for row in rows} - {(instance_id or "", _digest(items, instance_id))}:
            raise PlanError(
                f"{file} is not as the plan was saved: a cell or row was changed, added or left out; nothing was sent; "
                "change the decisions, and make the plan again"
            )
        digits = {fraction_digits(getattr(item, name)) for item in items for name in _AMOUNTS}
        # a spreadsheet shows 144.00 as 144: fewer digits are certain only if all amounts have the same number
        scale = max(digits) if len(digits) == 1 else max(DEFAULT_SCALE, *digits, 0)
        return cls(items, scale=scale, instance_id=instance_id)

    def _parts(self) -> list[ResultPart]:
        """List each item. The table in HTML also has its time, rule and transaction id."""
        lines = [
            f"- {item.description}: {format_amount(item.transaction_amount)} to {item.updated_category_ledger_name}"
            for item in self.items
        ]
        return [ResultPart(lines, self.exact()[_SHOWN], _MAX_ROWS, "items; .frame has all")]

    def _content(self) -> dict[str, Any]:
        return {
            "plan_id": self.plan_id,
            "instance_id": self.instance_id,
            "items": self.exact(),
            "left_out": [change.transaction_id for change in self.left_out],
        }


def plan_recategorization(proposals: pd.DataFrame, books: Books, *, instance_id: str | None = None) -> Plan:
    """Create a plan from proposals; nothing is sent to the service.

    Parameters
    ----------
    proposals : DataFrame
        :class:`~accounting_analytics.schemas.Proposals`; remove the rows you do not want. To choose another category,
        write its id, unique name or path to ``updated_category_ledger_id`` or ``updated_category_ledger_name`` and
        clear the other (None).
    books : Books
        The books; every new category must be one of their ledgers.
    instance_id : str, optional
        Service instance of the books (``client.instance_id``); the plan is then refused for any other instance.

    Raises
    ------
    InputError
        An argument is of another type.
    PlanError
        A new category is not in the ledgers, is ambiguous, reports cash flow or equals the current one, the id and the
        name in a row are of different ledgers, or two items contradict each other.
    """
    books = to_books(books)
    books.require_service("a plan", "changes the books of a service")
    changes, exact = changes_of_proposals(proposals, Categories(books.chart))
    return Plan(
        changes,
        scale=exact.scale,
        instance_id=instance_id,
        notes=books_notes(proposals),
    )


def plan_changes(asked: OpenQueue, chosen: Mapping[int, Change], instance_id: str | None) -> Plan:
    """Plan the decided changes of a queue, in the order of rows."""
    return Plan(
        (chosen[row] for row in sorted(chosen)),
        scale=asked.exact.scale,
        instance_id=instance_id,
        notes=books_notes(asked.queue),
    )


def plan_exact_rules(
    queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame, *, max_amount: Decimal, instance_id: str | None = None
) -> tuple[Plan, pd.DataFrame]:
    """Plan the changes that need no person: decided by an exact rule, within the limit, and reversible.

    The limit applies to a transaction and to its uncategorized part, without signs. The queue is returned too, with the
    ``rule`` that decides each transaction, the ``reason`` why it is left for a person (null where it is planned), and
    the notes of the proposals.
    """
    are_exact = {rule.name: rule.exact for rule in rules}
    if not any(are_exact.values()):
        raise RulesError(
            f"no rule of {rules.source} is marked `exact = true`; mark those that may be applied without a person"
        )
    asked = OpenQueue(queue, ledgers)
    notes = list(asked.exact.notes)
    chosen = choose_by_rules(asked, rules, notes)
    is_certain = asked.rows["uncategorized_is_certain"].tolist()
    reasons = dict.fromkeys(range(len(queue)), "no rule") | {
        row: _why_left(change, max_amount, is_exact=are_exact[change.rule], is_certain=is_certain[row])
        for row, change in chosen.items()
    }
    joining = joining_changes(change for row, change in chosen.items() if not reasons[row])
    reasons |= {asked.places[change.transaction_id, change.category_ledger_id]: "joins a split" for change in joining}
    plan = plan_changes(asked, {row: change for row, change in chosen.items() if not reasons[row]}, instance_id)
    rule_of = [chosen[row].rule if row in chosen else None for row in reasons]
    left = queue.assign(
        rule=pd.array(rule_of, "str"), reason=pd.array([reason or None for reason in reasons.values()], "str")
    )
    left.attrs = queue.attrs | {"notes": asked.proposals(chosen, notes).attrs["notes"]}
    return plan, left


def _why_left(change: Change, max_amount: Decimal, *, is_exact: bool, is_certain: bool) -> str:
    """Say why a person must decide a change, or return ""."""
    if not is_exact:
        return "rule not exact"
    if not is_certain:  # several transactions of an entry share the category line: changing it changes all of them
        return "shared category"
    largest = max(change.transaction_amount.copy_abs(), change.uncategorized_amount.copy_abs())
    return "above the limit" if largest > max_amount else ""


def left_by(plan: Plan, queue: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of a queue that a plan does not contain, with the reasons."""
    planned = {(item.transaction_id, item.category_ledger_id) for item in plan.items}
    left = queue[[key not in planned for key in zip(*(queue[name] for name in KEY), strict=True)]]
    return left.assign(reason=left["reason"].fillna(NOT_PLANNED)).reset_index(drop=True)


def require_same_instance(planned: str | None, instance_id: str) -> None:
    """Refuse a plan that was made for another instance."""
    if planned not in {None, instance_id}:
        raise PlanError(f"the plan is for instance {planned!r}, not {instance_id!r}; nothing was sent")
