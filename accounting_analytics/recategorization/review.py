"""The review of a queue: decisions in a grid, kept in a sheet, and taken over as choices of categories."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pandas as pd

from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.column_conversion import split_list
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.html_tables import NOT_TYPESET
from accounting_analytics.core.load_metadata import notes
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.progress import BATCH_VARIABLE
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.recategorization.choices import KEY
from accounting_analytics.recategorization.plan import plan_recategorization
from accounting_analytics.recategorization.review_record import OPEN, SKIPPED, ReviewRecord
from accounting_analytics.recategorization.suggestions import suggest
from accounting_analytics.reports.figure_table import (
    EntriesData,
    FigureCell,
    FigureRow,
    FigureTable,
    TableHead,
    figure_table_html,
)
from accounting_analytics.reports.figures import KEY_SEPARATOR, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.recategorization.plan import Plan
    from accounting_analytics.recategorization.review_record import Group, Rows
    from accounting_analytics.reports.local_books import LocalBooks


_AMOUNT = "amount"
_HEADS = ("Transactions", "Amount", "Category")
_MAX_ROWS = 50
_UPDATED_AFTER = 0.2  # seconds
_MAX_TABLES = 3  # of the latest cells that show the grid
_WIDGET = "application/vnd.jupyter.widget-view+json"
LIVE_GRID = "accounting-analytics-review"
"""Class of the grid that a kernel answers."""
TABLE_OF_GRID = "accounting-analytics-review-table"
_ONE_OF_BOTH = f"""<style>
.jp-OutputArea-child:has(.{TABLE_OF_GRID}):has(+ .jp-OutputArea-child .{LIVE_GRID}),
.jp-OutputArea-child:has(.{TABLE_OF_GRID}) + .jp-OutputArea-child:not(:has(.{LIVE_GRID})) {{ display: none; }}
</style>"""
"""Style of the table with the output after it, where the grid is: JupyterLab shows the one that works."""


class SavedReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a file of decisions: transaction, uncategorized ledger, and new category or None where skipped."""

    format: Literal["accounting_analytics.review/1"]
    decisions: list[tuple[str, str, str | None]]


class Review(Result):
    """Decisions about a queue, made in a grid of JupyterLab or by the methods; :func:`review` returns it.

    This object is the record: every view of the grid shows it, and a page that is loaded again too. Nothing is sent to
    the service. As the last expression of a cell it is the grid, and in a saved notebook a table.
    """

    def __init__(self, record: ReviewRecord, rules_file: Path) -> None:
        self._record, self._rules_file = record, rules_file
        self._widget: Any = None
        self._planned_update: asyncio.TimerHandle | None = None
        self._tables: deque[Any] = deque(maxlen=_MAX_TABLES)

    @property
    def frame(self) -> pd.DataFrame:
        """The groups, most money first, with what is staged or proposed for each."""
        record = self._record
        accounts = record.rows["ledger_name"].tolist()
        return pd.DataFrame(
            {
                "merchant": [group.merchant for group in record.groups],
                "account": [accounts[group.start] for group in record.groups],
                "transaction_count": [group.end - group.start for group in record.groups],
                "amount": [self._amount(group) for group in record.groups],
                "category": list(map(record.described_category, record.groups)),
                "reason": [record.reason(group.start) for group in record.groups],
            }
        )

    def _amount(self, group: Group) -> Decimal:
        return from_minor_units(sum(self._record.units[group.start : group.end]), self._record.scale)

    @property
    def decisions(self) -> pd.DataFrame:
        """The decided transactions as :class:`~accounting_analytics.schemas.Proposals`; skipped ones are left out."""
        return self._record.decisions()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the review; one sentence each."""
        return tuple(self._record.notes)

    def plan(self, *, instance_id: str | None = None) -> Plan:
        """Plan the decided transactions, as :func:`plan_recategorization`; what is only proposed is not planned.

        Parameters
        ----------
        instance_id : str, optional
            Service instance of the books (``client.instance_id``); the plan is then refused for any other instance.
        """
        return plan_recategorization(self.decisions, ledgers=self._record.ledgers, instance_id=instance_id)

    def assign(self, ids: str | Iterable[str], category: str) -> str:
        """Give groups or transactions, by their ids, a category by its id, unique name or path; say what changed.

        Raises
        ------
        InputError
            An id is not in the queue or is that of a split, or the category is unknown, ambiguous, cash or
            uncategorized.
        """
        return self._record.assign(self._rows(ids, self._record.decidable.find_free), category)

    def accept(self, ids: str | Iterable[str] | None = None) -> str:
        """Accept what is proposed for groups or transactions, of all by default; say what changed."""
        return self._record.accept(np.arange(len(self._record.units)) if ids is None else self._rows(ids))

    def skip(self, ids: str | Iterable[str]) -> str:
        """Leave groups or transactions uncategorized, whatever is proposed for them; say what changed."""
        return self._record.skip(self._rows(ids))

    def clear(self, ids: str | Iterable[str]) -> str:
        """Make groups or transactions open again; say what changed."""
        return self._record.clear(self._rows(ids))

    def undo(self) -> str:
        """Take back the last decision; say which."""
        return self._record.undo()

    def redo(self) -> str:
        """Make the last decision again that was taken back; say which."""
        return self._record.redo()

    def make_rule(self, group_or_transaction_id: str) -> str:
        """Append a rule for a group, or that of a transaction, with the category decided for it, to the rules file.

        Raises
        ------
        InputError
            The id is not in the queue, or it is not decided.
        RulesError
            The file has a rule of the same name, or is not valid.
        """
        return self._record.make_rule(self._rows(group_or_transaction_id), self._rules_file)

    def save(self, path: str | Path) -> None:
        """Write all decisions to a JSON file, completely or not at all, so that another kernel can load them.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        record, file = self._record, to_path(path, "path")
        ids = {number: ledger_id for ledger_id, number in record.numbers.items()}
        rows = zip(*(record.rows[name] for name in KEY), record.chosen.tolist(), strict=True)
        saved = [(key, old, ids.get(number)) for key, old, number in rows if number != OPEN]
        content = msgspec.json.encode(SavedReview("accounting_analytics.review/1", saved))
        write_text(file, msgspec.json.format(content, indent=1).decode() + "\n")

    def load(self, path: str | Path) -> str:
        """Stage the decisions of a file; say how many, and how many fit the queue no more. It can be undone.

        Raises
        ------
        InputError
            The file cannot be read, or has no saved decisions.
        """
        record, file = self._record, to_path(path, "path")
        try:
            saved = msgspec.json.decode(file.read_bytes(), type=SavedReview).decisions
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}; review.save(path) writes one") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{file} holds no saved decisions: {error}; review.save(path) writes them") from error
        rows = {key: row for row, key in enumerate(zip(*(record.rows[name] for name in KEY), strict=True))}
        known = [(rows[key, old], category) for key, old, category in saved if (key, old) in rows]
        choices = {
            row: SKIPPED if category is None else record.numbers[category]
            for row, category in known
            if category is None or record.may_choose(row, category)
        }
        sentences = [f"{len(choices):,} of {count_of(len(saved), 'decision')} of {file} staged."]
        if absent := len(saved) - len(known):
            sentences.append(f"{absent:,} are of transactions that are not in the queue any more.")
        if refused := len(known) - len(choices):
            sentences.append(f"{refused:,} name a category that cannot be chosen for their transaction.")
        places, numbers = np.array([*choices], dtype=np.int64), np.array([*choices.values()], dtype=np.int32)
        record.choose(places, numbers, count_of(len(choices), "loaded decision"))
        return " ".join(sentences)

    def summary(self) -> str:
        """One line: how many transactions, and how much money, are decided."""
        rows, money = self._record.cleared(self._record.effect())
        return f"Review: {rows} decided, {money}"

    def _rows(self, ids: str | Iterable[str], find: Callable[[str], list[int]] | None = None) -> Rows:
        """Find the rows of groups and transactions by their ids, each once."""
        find = find or self._record.decidable.find
        found = {row for one in ([ids] if isinstance(ids, str) else ids) for row in find(one)}
        return np.array(sorted(found), dtype=np.int64)

    def _parts(self) -> list[ResultPart]:
        table = self.frame
        columns = (table[name].tolist() for name in ("merchant", "transaction_count", "amount", "category"))
        lines = [
            f"- {merchant}: {count:,}, {amount:,f}{f', {category}' if category else ''}"
            for merchant, count, amount, category in zip(*columns, strict=True)
        ]
        return [ResultPart(lines, table)]

    def _repr_html_(self) -> str:
        return figure_table_html(self._figures())

    def _figures(self) -> FigureTable:
        """Describe the first groups, whose amounts unfold: a group stands where other tables have a ledger."""
        record, groups = self._record, self._record.groups[:_MAX_ROWS]
        accounts = record.rows["ledger_name"].fillna(record.rows["ledger_id"]).tolist()
        rows = []
        for group in groups:
            cells = (
                FigureCell(f"{group.end - group.start:,}"),
                FigureCell(text_of(self._amount(group)), f"{group.group_id}{KEY_SEPARATOR}{_AMOUNT}"),
                FigureCell(record.described_category(group)),
            )
            label = f"{group.merchant}, {accounts[group.start]}"
            rows.append(FigureRow(label, 0, "ledger", cells, record.reason(group.start)))
        opposing = [
            ", ".join(map(record.chart.names.name, sorted(split_list(one) or ())))
            for one in record.rows["opposing_ledger_ids"]
        ]
        lines = list(zip(record.days(), record.rows["description"], opposing, record.units, strict=True))
        entries = EntriesData(
            record.scale,
            [accounts[group.start] for group in groups],
            [(number, *line) for number, group in enumerate(groups) for line in lines[group.start : group.end]],
            {group.group_id: {_AMOUNT: [(1, group.start, group.end - 1)]} for group in groups},
            {},
            'queue[queue["group_id"] == {row!r}]',
        )
        rest = len(record.groups) - len(groups)
        more = [f"{count_of(rest, 'more group')}; .frame has all."] if rest else []
        heads = [TableHead(text, is_comparison=False) for text in _HEADS]
        return FigureTable(self.summary(), "", heads, rows, [*more, *self.notes], entries)

    def _content(self) -> dict[str, Any]:
        return {"notes": self.notes, "decisions": self.decisions}

    def _ipython_display_(self) -> None:
        """Show the grid where a kernel answers it, and the table where none does: in jobs, saved and exported pages."""
        from IPython import display as ipython  # noqa: PLC0415 (only where there is IPython)

        display: Any = ipython.display  # it has no types
        table: Any = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not _is_interactive():
            display(table, raw=True)
            return
        if self._widget is None:
            from accounting_analytics.recategorization.review_widget import ReviewWidget  # noqa: PLC0415 (slow to import)

            self._widget = ReviewWidget(self._record, self._rules_file)
            self._record.listeners.append(self._plan_update)
        view = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        self._tables.append(display(self._table_of_grid(), raw=True, display_id=True))
        display({_WIDGET: view, "text/plain": ""}, raw=True)

    def _table_of_grid(self) -> dict[str, str]:
        html = f'{_ONE_OF_BOTH}<div class="{TABLE_OF_GRID} {NOT_TYPESET}">{self._repr_html_()}</div>'
        return {"text/plain": self.summary(), "text/html": html}

    def _plan_update(self) -> None:
        """Update the tables of the notebook soon, once for many decisions; immediately where no kernel runs."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._update_tables()
            return
        if self._planned_update is None:
            self._planned_update = loop.call_later(_UPDATED_AFTER, self._update_tables)

    def _update_tables(self) -> None:
        """Update the tables of the notebook, so that it is saved with what is decided."""
        self._planned_update = None
        content = self._table_of_grid()
        for shown in self._tables:
            shown.update(content, raw=True)


def _is_interactive() -> bool:
    """Whether a kernel shows outputs to a person, and answers what that person does."""
    if os.environ.get(BATCH_VARIABLE) == "1":
        return False
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def review(
    queue: pd.DataFrame,
    ledgers: pd.DataFrame,
    *,
    proposals: pd.DataFrame | None = None,
    history: pd.DataFrame | LocalBooks | None = None,
    rules_file: str | Path = "rules.toml",
) -> Review:
    """Review the queue in a grid: accept, change and skip what is proposed, and plan what was decided.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; the categories to choose from.
    proposals : DataFrame, optional
        :class:`~accounting_analytics.schemas.Proposals` of :func:`propose` or :func:`suggest`. They are shown, and
        decide nothing until they are accepted.
    history : DataFrame or Books, optional
        Line entries from which :func:`suggest` proposes what `proposals` do not.
    rules_file : path, optional
        File that "Make a rule" appends to; it is created where it is missing.

    Returns
    -------
    Review
        The record of the decisions, and the grid where a cell of JupyterLab ends in it.

    Raises
    ------
    InputError
        An argument is of another type, or a proposed category is not in `ledgers`, or cannot be a category.
    FrameError
        `queue` is not a valid queue, or has a transaction more than once.

    Examples
    --------
    ::

        review = aa.review(queue, ledgers, proposals=proposals)
        review  # the grid: tick groups, type a category, press Enter
        plan = review.plan(instance_id=client.instance_id)
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    given = []
    if proposals is not None:
        require_type(proposals, pd.DataFrame, "proposals", "propose(queue, rules, ledgers) returns them")
        given.append(proposals)
    if history is not None:
        given.append(suggest(queue, history, ledgers))
    record = ReviewRecord(queue, ledgers, given)
    if history is not None:
        record.notes += notes(given[-1])
    return Review(record, to_path(rules_file, "rules_file"))
