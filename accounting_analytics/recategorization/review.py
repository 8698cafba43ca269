"""The review of a queue in a grid in JupyterLab.

The kernel has the record of all decisions. Browsers show this record in a grid, and ask the kernel to change it.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import pandas as pd
import traitlets

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.column_conversion import split_list
from accounting_analytics.core.errors import AccountingAnalyticsError, InputError
from accounting_analytics.core.load_metadata import notes
from accounting_analytics.core.messages import count_of, printable
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.progress import is_interactive_kernel
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.text_and_html_tables import NOT_TYPESET
from accounting_analytics.recategorization.check_coding import CodingCheck
from accounting_analytics.recategorization.queue import uncategorized_queue
from accounting_analytics.recategorization.review_state import ReviewState
from accounting_analytics.recategorization.suggestions import suggest
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, text_of
from accounting_analytics.reports.figures.figure_table import (
    EntriesData,
    FigureCell,
    FigureRow,
    FigureTable,
    TableHead,
    figure_table_html,
)
from accounting_analytics.reports.figures.numbered_lines import PageLines, ShownLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.reports.books.value import Books

_OPEN, _SKIPPED = -1, -2  # used instead of the number of a category
_AMOUNT = "amount"
_HEADS = ("Transactions", "Amount", "Category")
_MAX_ROWS = 50
_UPDATED_AFTER = 0.2  # seconds
_MAX_TABLES = 3  # number of latest cells that show the grid
_WIDGET = "application/vnd.jupyter.widget-view+json"
_SCRIPTS = ("rows.js", "elements.js", "review_grid.js")
"""Files of the script, in the order in which they are joined. None imports another."""
LIVE_GRID = "accounting-analytics-review"
"""CSS class of a grid that is connected to a kernel."""
TABLE_OF_GRID = "accounting-analytics-review-table"
_GRID_OR_TABLE = f"""<style>
.jp-OutputArea-child:has(.{TABLE_OF_GRID}):has(+ .jp-OutputArea-child .{LIVE_GRID}),
.jp-OutputArea-child:has(.{TABLE_OF_GRID}) + .jp-OutputArea-child:not(:has(.{LIVE_GRID})) {{ display: none; }}
</style>"""
"""Style by which JupyterLab shows the grid in the next output if it works, else the table."""


class Review(ReviewState, Result):
    """Decisions about a queue, made in a grid of JupyterLab or by the methods; :func:`review` returns it.

    This object is the record that every view of the grid shows, also after the page is loaded again. Nothing is sent to
    the service. As the last expression of a cell it is the grid, and in a saved notebook a table.
    """

    _widget: ReviewWidget | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The groups, the largest amount first, with the chosen or proposed category of each."""
        first = self.rows.iloc[[rows[0] for rows in self.groups.values()]]
        return pd.DataFrame(
            {
                "counterparty": first["counterparty"].tolist(),
                "account": first["ledger_name"].fillna(first["ledger_id"]).tolist(),
                "transaction_count": list(map(len, self.groups.values())),
                "amount": [from_minor_units(self.sum(rows), self.scale) for rows in self.groups.values()],
                "category": list(map(self._describe_category, self.groups.values())),
                "reason": [self.reason(rows[0]) for rows in self.groups.values()],
            }
        )

    def summary(self) -> str:
        """One line of text: how many transactions, and how much money, are decided."""
        rows, money = self.cleared()
        return f"Review: {rows} decided, {money}"

    def _describe_category(self, rows: Sequence[int]) -> str:
        """Describe the chosen categories of a group, else the proposed categories."""
        chosen = {self.chosen[row].updated_category_ledger_name or "skipped" for row in rows if row in self.chosen}
        if chosen:
            names = [*sorted(chosen - {"skipped"}), *(chosen & {"skipped"})]
            return ", ".join(names if self.chosen.keys() >= {*rows} else [*names, "open"])
        proposed = {self.proposed[row].updated_category_ledger_name for row in rows if row in self.proposed}
        return f"proposed: {' or '.join(sorted(proposed))}" if proposed else ""

    def _parts(self) -> list[ResultPart]:
        table = self.frame
        columns = (table[name].tolist() for name in ("counterparty", "transaction_count", "amount", "category"))
        lines = [
            f"- {counterparty}: {count:,}, {amount:,f}{f', {category}' if category else ''}"
            for counterparty, count, amount, category in zip(*columns, strict=True)
        ]
        return [ResultPart(lines, table)]

    def _repr_html_(self) -> str:
        return figure_table_html(self._groups_table())

    def _groups_table(self) -> FigureTable:
        """Make the table of the first groups, whose amounts unfold."""
        groups, shown = list(self.groups.items())[:_MAX_ROWS], self.frame.head(_MAX_ROWS)
        table = [
            FigureRow(
                f"{counterparty}, {account}",
                0,
                "ledger",
                (
                    FigureCell(f"{count:,}"),
                    FigureCell(text_of(amount), f"{group_id}{KEY_SEPARATOR}{_AMOUNT}"),
                    FigureCell(category),
                ),
                reason,
            )
            for (group_id, _), (counterparty, account, count, amount, category, reason) in zip(
                groups, shown.itertuples(index=False, name=None), strict=True
            )
        ]
        opposing = [
            ", ".join(map(self.chart.names.name, sorted(split_list(ids) or ())))
            for ids in self.rows["opposing_ledger_ids"]
        ]
        parts = list(zip(self.days(), self.rows["description"], opposing, self.units, strict=True))
        lines = [
            ShownLine(group_id, day, text, names, units)  # the id of the group is used as the id of a ledger
            for group_id, rows in groups
            for day, text, names, units in map(parts.__getitem__, rows)
        ]
        accounts = dict(zip((group_id for group_id, _ in groups), shown["account"], strict=True))
        entries = EntriesData(
            self.scale,
            PageLines.of(lines, accounts.__getitem__),
            {group_id: {_AMOUNT: [(1, rows[0], rows[-1])]} for group_id, rows in groups},
            {},
            'queue[queue["group_id"] == {row!r}]',
        )
        rest = len(self.groups) - len(groups)
        more = [f"{count_of(rest, 'more group')}; .frame has all."] if rest else []
        heads = [TableHead(text, is_comparison=False) for text in _HEADS]
        return FigureTable(self.summary(), "", heads, table, [*more, *self.notes], entries)

    def _content(self) -> dict[str, Any]:
        return {"decisions": self.decisions}

    def _ipython_display_(self) -> None:
        """Show the grid in a live notebook, and the table elsewhere."""
        if is_interactive_kernel():
            self._widget = self._widget or ReviewWidget(self)
            self._widget.show()
        else:
            _display({"text/plain": repr(self), "text/html": self._repr_html_()})


class ReviewWidget(anywidget.AnyWidget):
    """Grid of a review in JupyterLab. Every view shows the record of the kernel."""

    _columns = traitlets.Dict().tag(sync=True)
    _chosen = traitlets.Bytes().tag(sync=True)
    _state = traitlets.Dict().tag(sync=True)
    _view = traitlets.Unicode("{}").tag(sync=True)

    def __init__(self, review: Review) -> None:
        self._review = review
        self._numbers = {ledger_id: number for number, ledger_id in enumerate(review.chart.possible())} | {"": _SKIPPED}
        self._tables: deque[Any] = deque(maxlen=_MAX_TABLES)
        self._planned_update: asyncio.TimerHandle | None = None
        self._esm, self._css = "\n".join(map(_file, _SCRIPTS)), _file("review_grid.css")
        columns = _columns_of(review, self._in_numbers(review.proposed).tolist())
        super().__init__(_columns=columns, _chosen=self._in_numbers(review.chosen).tobytes(), _state=_state_of(review))
        review.listeners.append(self._show_change)
        self.on_msg(self._receive)

    def show(self) -> None:
        """Display the grid, below the table that a saved notebook shows."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        self._tables.append(_display(self._table(), display_id=True))
        _display({_WIDGET: view, "text/plain": ""})

    def _table(self) -> dict[str, Any]:
        html = f'{_GRID_OR_TABLE}<div class="{TABLE_OF_GRID} {NOT_TYPESET}">{self._review._repr_html_()}</div>'
        return {"text/plain": self._review.summary(), "text/html": html}

    def _in_numbers(self, changes: dict[int, Change]) -> array[int]:
        """Return the category number of each row: -1 open, -2 skipped."""
        numbers = array("i", [_OPEN]) * len(self._review.units)
        for row, change in changes.items():
            numbers[row] = self._numbers[change.updated_category_ledger_id]
        return numbers

    def _show_change(self) -> None:
        """Send the choices to every view.

        Schedule an update of the saved tables.
        """
        with self.hold_sync():  # one message
            self._chosen = self._in_numbers(self._review.chosen).tobytes()
            self._state = _state_of(self._review)
        if self._tables and self._planned_update is None:
            self._planned_update = asyncio.get_running_loop().call_later(_UPDATED_AFTER, self._update_tables)

    def _update_tables(self) -> None:
        self._planned_update = None
        content = self._table()
        for shown in self._tables:
            shown.update(content, raw=True)

    def _receive(self, _: object, content: Any, __: object) -> None:  # noqa: ANN401 (what the script sends)
        """Do what a browser asks, and send the result or error."""
        try:
            text, is_error = self._act(**content), False
        except AccountingAnalyticsError as error:
            text, is_error = str(error), True
        self.send({"request": content["request"], "text": printable(text, " "), "error": is_error})

    def _act(
        self,
        action: str,
        ids: Sequence[str] = (),
        category: str = "",
        request: int = 0,  # noqa: ARG002 (a number that the answer repeats)
    ) -> str:
        """Carry out an action on groups and transactions, and return its sentence."""
        review = self._review
        if action in {"undo", "redo"}:
            return review.undo() if action == "undo" else review.redo()
        if not ids:
            raise InputError("no row is ticked")
        if action == "rule":
            return review.make_rule(ids[0])
        if action == "assign":
            return review.assign(ids, category)
        return {"accept": review.accept, "skip": review.skip, "clear": review.clear}[action](ids)


def _columns_of(review: Review, proposed: list[int]) -> dict[str, Any]:
    """Return the constant content: categories, groups and rows, with exact minor units."""
    rows, names = review.rows, review.chart.names
    first = rows.iloc[[group[0] for group in review.groups.values()]]
    splits = zip(rows["kind"], rows["opposing_ledger_ids"], strict=True)
    return {
        "scale": review.scale,
        "categories": [
            [printable(names.name(ledger_id)), printable(names.path(ledger_id)), ledger_id]
            for ledger_id in review.chart.possible()
        ],
        "groups": {
            "id": list(review.groups),
            "kind": first["kind"].tolist(),
            "counterparty": _texts(first["counterparty"]),
            "start": [*first.index.tolist(), len(rows)],
        },
        "rows": {
            "id": rows["transaction_id"].tolist(),
            "account": _texts(rows["ledger_name"].fillna(rows["ledger_id"])),
            "other": _texts(map(names.name, rows["counterpart_ledger_id"].fillna(""))),
            "old": _texts(map(names.name, rows["category_ledger_id"])),
            "day": review.days(),
            "description": _texts(rows["description"]),
            "split": _texts(
                ", ".join(map(names.name, ids.split("|"))) if kind == "split" else "" for kind, ids in splits
            ),
            "units": list(map(str, review.units)),
            "proposed": proposed,
            "why": _texts(map(review.reason, range(len(rows)))),
        },
        "notes": _texts(review.notes),
    }


def _texts(texts: Iterable[str]) -> list[str]:
    """Remove control characters from texts."""
    return list(map(printable, texts))


def _state_of(review: Review) -> dict[str, Any]:
    """Return the number and effect of decisions, and what can be undone."""
    return {
        "undo": printable(review.done[-1][0]) if review.done else "",
        "redo": printable(review.undone[-1][0]) if review.undone else "",
        "cleared": f"Cleared: {', '.join(review.cleared())}, {count_of(len(review.done), 'decision')}",
        "effect": [
            [printable(review.chart.names.path(ledger_id)), review.amount(units), f"{count:,}"]
            for ledger_id, (units, count) in review.effect().items()
        ],
    }


@cache
def _file(name: str) -> str:
    """Read the text of a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _display(content: dict[str, Any], **options: Any) -> Any:  # noqa: ANN401 (a handle of IPython, which has no types)
    """Display a bundle of outputs in the cell that is run."""
    from IPython import display  # noqa: PLC0415 (only where there is IPython)

    return display.display(content, raw=True, **options)


def review(
    books: Books,
    queue: pd.DataFrame | CodingCheck | None = None,
    *,
    proposals: pd.DataFrame | None = None,
    rules_file: str | Path = "rules.toml",
) -> Review:
    """Review the queue in a grid: accept, change and skip what is proposed, and plan what was decided.

    Parameters
    ----------
    books : Books
        The books, whose ledgers are the categories to choose from.
    queue : DataFrame or CodingCheck, optional
        :class:`~accounting_analytics.schemas.Queue`, by default that of the period of the books; or what
        :func:`check_coding` returns, with its proposals. The category that a transaction has may be chosen too: it is
        right then, and no plan changes it.
    proposals : DataFrame, optional
        :class:`~accounting_analytics.schemas.Proposals` of :func:`propose` or :func:`suggest`; by default what
        :func:`suggest` returns. They are shown, and decide nothing until they are accepted.
    rules_file : path, optional
        File that "Make a rule" appends to; it is created where it is missing.

    Returns
    -------
    Review
        The record of the decisions, and the grid where a cell of JupyterLab ends in it.

    Raises
    ------
    InputError
        An argument is of another type, or a proposed category is not a ledger of the books, or cannot be a category.
    FrameError
        `queue` is not a valid queue, or has a transaction more than once.

    Examples
    --------
    ::

        review = aa.review(books, queue, proposals=proposals)
        review  # the grid: tick groups, type a category, press Enter
        plan = review.plan(instance_id=client.instance_id)
    """
    books = to_books(books)
    if isinstance(queue, CodingCheck):
        check: CodingCheck = queue
        queue, proposals = check.queue, check.proposals if proposals is None else proposals
    queue = uncategorized_queue(books) if queue is None else queue
    suggested = suggest(queue, books) if proposals is None else None
    given = [frame for frame in (proposals, suggested) if frame is not None]
    remarks = () if suggested is None or queue.empty else notes(suggested)
    return Review(queue, books.ledgers, given, to_path(rules_file, "rules_file"), remarks)
