"""The review of a queue: decisions in a grid, kept in a file, and taken over as proposals for a plan."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

import msgspec
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
from accounting_analytics.recategorization.choices import BY_HAND, Choice, proposals_of
from accounting_analytics.recategorization.plan import plan_recategorization
from accounting_analytics.recategorization.queue import KEY
from accounting_analytics.recategorization.review_record import SKIPPED, ReviewRecord
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
    from collections.abc import Sequence
    from pathlib import Path

    from accounting_analytics.recategorization.plan import Plan
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


class Review(ReviewRecord, Result):
    """Decisions about a queue, made in a grid of JupyterLab or by the methods; :func:`review` returns it.

    This object is the record: every view of the grid shows it, and a page that is loaded again too. Nothing is sent to
    the service. As the last expression of a cell it is the grid, and in a saved notebook a table.
    """

    _widget: Any = None
    _planned_update: asyncio.TimerHandle | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The groups, most money first, with what is staged or proposed for each."""
        first = self.rows.iloc[[rows[0] for rows in self.groups.values()]]
        return pd.DataFrame(
            {
                "merchant": first["merchant"].tolist(),
                "account": first["ledger_name"].tolist(),
                "transaction_count": list(map(len, self.groups.values())),
                "amount": [from_minor_units(self._sum(rows), self.scale) for rows in self.groups.values()],
                "category": list(map(self._described_category, self.groups.values())),
                "reason": [self.reason(rows[0]) for rows in self.groups.values()],
            }
        )

    @property
    def decisions(self) -> pd.DataFrame:
        """The decided transactions as :class:`~accounting_analytics.schemas.Proposals`; skipped ones are left out."""
        choices = {row: Choice(one, self._why(row)) for row, one in self.chosen.items() if one != SKIPPED}
        return proposals_of(self.rows, choices, self.chart, self._exact, notes=self._remarks, sources=[self._queue])

    def plan(self, *, instance_id: str | None = None) -> Plan:
        """Plan the decided transactions, as :func:`plan_recategorization`; what is only proposed is not planned.

        Parameters
        ----------
        instance_id : str, optional
            Service instance of the books (``client.instance_id``); the plan is then refused for any other instance.
        """
        return plan_recategorization(self.decisions, ledgers=self._ledgers, instance_id=instance_id)

    def save(self, path: str | Path) -> None:
        """Write all decisions to a JSON file, completely or not at all, so that another kernel can load them.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        keys = list(zip(*(self.rows[name] for name in KEY), strict=True))
        saved = [(*keys[row], one or None) for row, one in sorted(self.chosen.items())]
        content = msgspec.json.encode(SavedReview("accounting_analytics.review/1", saved))
        write_text(to_path(path, "path"), msgspec.json.format(content, indent=1).decode() + "\n")

    def load(self, path: str | Path) -> str:
        """Stage the decisions of a file; say how many, and how many fit the queue no more. It can be undone.

        Raises
        ------
        InputError
            The file cannot be read, or has no saved decisions.
        """
        file = to_path(path, "path")
        try:
            saved = msgspec.json.decode(file.read_bytes(), type=SavedReview).decisions
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}; review.save(path) writes one") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{file} holds no saved decisions: {error}; review.save(path) writes them") from error
        places = {key: row for row, key in enumerate(zip(*(self.rows[name] for name in KEY), strict=True))}
        known = {places[key, old]: one or SKIPPED for key, old, one in saved if (key, old) in places}
        possible = {*self.chart.possible(), SKIPPED}
        usable = {row: one for row, one in known.items() if one in possible and self._may_have(row, one)}
        sentences = [f"{len(usable):,} of {count_of(len(saved), 'decision')} of {file} staged."]
        if absent := len(saved) - len(known):
            sentences.append(f"{absent:,} are of transactions that are not in the queue any more.")
        if refused := len(known) - len(usable):
            sentences.append(f"{refused:,} name a category that cannot be chosen for their transaction.")
        self._choose(usable, count_of(len(usable), "loaded decision"))
        return " ".join(sentences)

    def summary(self) -> str:
        """One line: how many transactions, and how much money, are decided."""
        rows, money = self.cleared()
        return f"Review: {rows} decided, {money}"

    def _may_have(self, row: int, category: str) -> bool:
        """Whether a row may have a category: a split only the one that is proposed."""
        is_split = self.rows["kind"][row] == "split" and category != SKIPPED
        return not is_split or (row in self.proposed and self.proposed[row].category == category)

    def _why(self, row: int) -> str:
        """Text of the column ``rule`` of a decided row: the rule that was accepted, or who decided."""
        if row in self.proposed and self.proposed[row].category == self.chosen[row]:
            return self.proposed[row].why
        group_id = self.rows["group_id"][row]
        is_whole = {self.chosen.get(one) for one in self.groups[group_id]} == {self.chosen[row]}
        return f"{BY_HAND}: {group_id}" if is_whole else BY_HAND

    def _described_category(self, rows: Sequence[int]) -> str:
        """Describe what is chosen for the rows of a group, or else proposed."""
        chosen, name = {self.chosen.get(row) for row in rows}, self.chart.names.name
        if chosen == {None}:
            proposed = {self.proposed[row].category for row in rows if row in self.proposed}
            return f"proposed: {' or '.join(sorted(map(name, proposed)))}" if proposed else ""
        names = sorted(name(one) for one in chosen if one)
        return ", ".join([*names, *(text for one, text in ((SKIPPED, "skipped"), (None, "open")) if one in chosen)])

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
        shown = list(self.groups.items())[:_MAX_ROWS]
        accounts = self.rows["ledger_name"].fillna(self.rows["ledger_id"]).tolist()
        table = []
        for group_id, rows in shown:
            cells = (
                FigureCell(f"{len(rows):,}"),
                FigureCell(
                    text_of(from_minor_units(self._sum(rows), self.scale)), f"{group_id}{KEY_SEPARATOR}{_AMOUNT}"
                ),
                FigureCell(self._described_category(rows)),
            )
            label = f"{self.rows['merchant'][rows[0]]}, {accounts[rows[0]]}"
            table.append(FigureRow(label, 0, "ledger", cells, self.reason(rows[0])))
        opposing = [
            ", ".join(map(self.chart.names.name, sorted(split_list(one) or ())))
            for one in self.rows["opposing_ledger_ids"]
        ]
        lines = list(zip(self.days(), self.rows["description"], opposing, self.units, strict=True))
        entries = EntriesData(
            self.scale,
            [accounts[rows[0]] for _, rows in shown],
            [(number, *lines[row]) for number, (_, rows) in enumerate(shown) for row in rows],
            {group_id: {_AMOUNT: [(1, rows[0], rows[-1])]} for group_id, rows in shown},
            {},
            'queue[queue["group_id"] == {row!r}]',
        )
        rest = len(self.groups) - len(shown)
        more = [f"{count_of(rest, 'more group')}; .frame has all."] if rest else []
        heads = [TableHead(text, is_comparison=False) for text in _HEADS]
        return FigureTable(self.summary(), "", heads, table, [*more, *self.notes], entries)

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

            self._widget = ReviewWidget(self)
            self._tables: deque[Any] = deque(maxlen=_MAX_TABLES)
            self.listeners.append(self._plan_update)
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
    more = () if history is None else notes(given[-1])
    return Review(queue, ledgers, given, to_path(rules_file, "rules_file"), more)
