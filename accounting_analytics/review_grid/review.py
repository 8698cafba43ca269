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

from accounting_analytics.arguments import require_type, to_path
from accounting_analytics.atomic_files import write_text
from accounting_analytics.categorization import suggest
from accounting_analytics.categorization.groups import Decidable
from accounting_analytics.errors import InputError
from accounting_analytics.figure_tables import figure_table_html
from accounting_analytics.html_tables import NOT_TYPESET
from accounting_analytics.load_metadata import notes
from accounting_analytics.messages import count_of
from accounting_analytics.progress import BATCH_VARIABLE
from accounting_analytics.recategorization import plan_recategorization
from accounting_analytics.results import Result, ResultPart
from accounting_analytics.review_grid.group_figures import group_figures
from accounting_analytics.review_grid.record import KEY, OPEN, SKIPPED, ReviewRecord
from accounting_analytics.review_grid.static_table import ONE_OF_BOTH, TABLE_OF_GRID, groups_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from accounting_analytics.local_books import LocalBooks
    from accounting_analytics.recategorization import Plan
    from accounting_analytics.review_grid.record import Rows, StagedChange


class SavedDecision(msgspec.Struct, frozen=True):
    """Decision of one row: the id of its new category, or None where it is skipped."""

    transaction_id: str
    category_ledger_id: str
    updated_category_ledger_id: str | None


class SavedReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a file of saved decisions."""

    format: Literal["accounting_analytics.review/1"]
    decisions: list[SavedDecision]


def save_decisions(record: ReviewRecord, path: Path) -> None:
    """Write all decisions to a file, completely or not at all."""
    chosen = record.staged.chosen
    decided = np.flatnonzero(chosen != OPEN)
    keys = zip(*(record.rows.frame[name].iloc[decided] for name in KEY), strict=True)
    decisions = [
        SavedDecision(transaction_id, old, record.categories[number] if number >= 0 else None)
        for (transaction_id, old), number in zip(keys, chosen[decided].tolist(), strict=True)
    ]
    content = msgspec.json.encode(SavedReview("accounting_analytics.review/1", decisions))
    write_text(path, msgspec.json.format(content, indent=1).decode() + "\n")


def load_decisions(record: ReviewRecord, path: Path) -> str:
    """Stage the decisions of a file as one decision, which can be undone; return what was loaded and left out."""
    saved = _read(path)
    keys = zip(*(record.rows.frame[name].tolist() for name in KEY), strict=True)
    row_of = {key: row for row, key in enumerate(keys)}
    choices: dict[int, int] = {}
    absent = refused = 0
    for one in saved.decisions:
        row = row_of.get((one.transaction_id, one.category_ledger_id))
        number = (
            SKIPPED if one.updated_category_ledger_id is None else record.numbers.get(one.updated_category_ledger_id)
        )
        if row is None:
            absent += 1
        elif number is None or not record.may_choose(row, number):
            refused += 1
        else:
            choices[row] = number
    rows = np.fromiter(choices, dtype=np.int64, count=len(choices))
    numbers = np.fromiter(choices.values(), dtype=np.int32, count=len(choices))
    record.staged.choose(rows, numbers, count_of(len(rows), "loaded decision"))
    sentences = [f"{len(rows):,} of {count_of(len(saved.decisions), 'decision')} of {path} staged."]
    if absent:
        sentences.append(f"{absent:,} are of transactions that are not in the queue any more.")
    if refused:
        sentences.append(f"{refused:,} name a category that cannot be chosen for their transaction.")
    return " ".join(sentences)


def _read(path: Path) -> SavedReview:
    try:
        return msgspec.json.decode(path.read_bytes(), type=SavedReview)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; review.save(path) writes one") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} holds no saved decisions: {error}; review.save(path) writes them") from error


_MAX_ROWS = 50
_UPDATED_AFTER = 0.2  # seconds
_MAX_TABLES = 3  # of the latest cells that show the grid
_WIDGET = "application/vnd.jupyter.widget-view+json"


class Review(Result):
    """Decisions about a queue, made in a grid of JupyterLab or by the methods; :func:`review` returns it.

    This object is the record: every view of the grid shows it, and a page that is loaded again too. Nothing is sent to
    the service. As the last expression of a cell it is the grid, and in a saved notebook a table.
    """

    def __init__(self, record: ReviewRecord, rules_file: Path) -> None:
        self._record, self._rules_file = record, rules_file
        self._decidable = Decidable(record.rows.frame)
        self._widget: Any = None
        self._planned_update: asyncio.TimerHandle | None = None
        self._tables: deque[Any] = deque(maxlen=_MAX_TABLES)

    @property
    def frame(self) -> pd.DataFrame:
        """The groups, most money first, with what is staged or proposed for each."""
        return groups_table(self._record)

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
        rows = self._rows(ids, self._decidable.find_free)
        return self._record.assign(rows, self._record.require_category(category))

    def accept(self, ids: str | Iterable[str] | None = None) -> str:
        """Accept what is proposed for groups or transactions, of all by default; say what changed."""
        return self._record.accept(np.arange(len(self._record.rows)) if ids is None else self._rows(ids))

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
        return self._record.make_rule(self._decidable.find(group_or_transaction_id)[0], self._rules_file)

    def save(self, path: str | Path) -> None:
        """Write all decisions to a JSON file, completely or not at all, so that another kernel can load them.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        save_decisions(self._record, to_path(path, "path"))

    def load(self, path: str | Path) -> str:
        """Stage the decisions of a file; say how many, and how many fit the queue no more. It can be undone.

        Raises
        ------
        InputError
            The file cannot be read, or has no saved decisions.
        """
        return load_decisions(self._record, to_path(path, "path"))

    def summary(self) -> str:
        """One line: how many transactions, and how much money, are decided."""
        effect, rows = self._record.effect, len(self._record.rows)
        cleared, whole = map(self._record.amount, (effect.cleared_units, effect.all_units))
        return (
            f"Review: {effect.cleared_rows:,} of {count_of(rows, 'transaction')} decided, {cleared} of {whole} "
            f"({effect.cleared_percent} %)"
        )

    def _rows(self, ids: str | Iterable[str], find: Callable[[str], list[int]] | None = None) -> Rows:
        """Find the rows of groups and transactions by their ids, each once."""
        found = {row for one in ([ids] if isinstance(ids, str) else ids) for row in (find or self._decidable.find)(one)}
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
        return figure_table_html(group_figures(self._record, self.summary(), self.notes, _MAX_ROWS))

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
            from accounting_analytics.review_grid.widget import ReviewWidget  # noqa: PLC0415 (slow to import)

            self._widget = ReviewWidget(self._record, self._rules_file)
            self._record.listeners.append(self._plan_update)
        view = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        self._tables.append(display(self._table_of_grid(), raw=True, display_id=True))
        display({_WIDGET: view, "text/plain": ""}, raw=True)

    def _table_of_grid(self) -> dict[str, str]:
        html = f'{ONE_OF_BOTH}<div class="{TABLE_OF_GRID} {NOT_TYPESET}">{self._repr_html_()}</div>'
        return {"text/plain": self.summary(), "text/html": html}

    def _plan_update(self, _: StagedChange) -> None:
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
        An argument is of another type.
    FrameError
        `queue` is not a valid queue, or has a transaction more than once.
    PlanError
        A proposed category is not in `ledgers`, or cannot be a category.

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
