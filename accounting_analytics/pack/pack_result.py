"""`MonthlyPack`: the figures, sentences and statements of a period, and the page that has them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.amount_units import AMOUNT_UNITS, currency_label, unit_notes
from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import day_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.pack.pack_sentences import plain
from accounting_analytics.pack.pack_workbook import WorkbookTexts, write_pack_workbook
from accounting_analytics.pack.section_tables import KEY_FIGURES
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR
from accounting_analytics.reports.figures.figure_table import figure_table_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.periods import Period
    from accounting_analytics.pack.books_of_pack import ComparedBooks, ComparedPeriod
    from accounting_analytics.pack.pack_content import PackContent
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reconciliation.completeness import Certificate
    from accounting_analytics.reports.figures.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class MonthlyPack(Result):
    """The pack of a period: its figures, sentences, statements and page.

    ``pack["income:net_income|2026-05"]`` is the figure with this table and key, as `figures` lists them. It has line
    entries or terms.

    Parameters
    ----------
    period : Period
        The days.
    company, currency : str or None
        What the page names.
    created_at : str
        When the pack was made, in UTC.
    section_names : tuple of str
        The sections of the page.
    show_code : bool
        Whether the page shows the calls that make its statements.
    note : str or None
        What its owner says about the period, in Markdown.
    amounts_in : {"k", "M"} or None
        The unit that amounts are shown in.
    """

    period: Period
    company: str | None
    currency: str | None
    created_at: str
    section_names: tuple[str, ...]
    show_code: bool
    note: str | None
    amounts_in: AmountsIn | None
    _periods: PackPeriods
    _books: ComparedBooks
    _made: PackContent
    _render: Callable[[MonthlyPack], str]

    @property
    def content(self) -> PackContent:
        """Parts of the pack that templates use."""
        return self._made

    @property
    def period_label(self) -> str:
        """The period as people name it."""
        return self._periods.label

    @property
    def title(self) -> str:
        """Company and period."""
        return ", ".join([self.company or "Monthly pack", self.period_label])

    @property
    def proven(self) -> bool:
        """True if no line of the known ledgers is missing and every compared report agrees."""
        return self.content.proven

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences that say what is proven, or why the pack is not proven."""
        return self.content.reasons

    @property
    def verdict(self) -> str:
        """Text of the verdict: proven or not, undecided amounts, and the reasons."""
        undecided = [] if self.content.undecided is None else [plain(self.content.undecided)]
        return f"{self.proof[:1].upper()}{self.proof[1:]}. {' '.join([*undecided, *self.reasons])}"

    @property
    def proof(self) -> str:
        """Text about the proof by the service's reports, or about the file that no report proves."""
        if self._books.file:
            return f"calculated from {self._books.file}"
        return "cash flow proven" if self.proven else "cash flow not proven"

    @property
    def is_calculated(self) -> bool:
        """True if the books were read from a file, so that no report of a service proves them."""
        return bool(self._books.file)

    @property
    def state(self) -> str:
        """``proven``, ``undecided`` (much is not categorized), ``calculated`` or ``unproven``."""
        if self.is_calculated and self.content.undecided is None and self.certificate.complete:
            return "calculated"
        if not self.proven and not (self.is_calculated and self.certificate.complete):
            return "unproven"
        return "proven" if self.content.undecided is None else "undecided"

    @property
    def sentences(self) -> tuple[str, ...]:
        """At most five sentences about changes and their reasons."""
        return tuple(map(plain, self.content.sentences))

    @property
    def key_figures(self) -> tuple[tuple[str, str, str], ...]:
        """The label, amount and comparison of each key figure."""
        table = self.content.tables[KEY_FIGURES].table
        heads = [head.text for head in table.heads]
        return tuple(
            (
                row.label,
                row.cells[0].text,
                ", ".join(
                    f"{head} {cell.text}" for head, cell in zip(heads[1:], row.cells[1:], strict=True) if cell.text
                ),
            )
            for row in table.rows
        )

    @property
    def unit_name(self) -> str:
        """Unit of shown amounts: ``thousands``, ``millions`` or nothing."""
        return AMOUNT_UNITS[self.amounts_in].name if self.amounts_in else ""

    @property
    def unit_notes(self) -> tuple[str, ...]:
        """Sentences about the rounding of amounts in a unit."""
        return unit_notes(self.amounts_in)

    @property
    def certificate(self) -> Certificate:
        """The certificate of completeness."""
        return self._books.certificate

    @property
    def certificate_text(self) -> str:
        """Text of the certificate: the loaded lines and the missing lines."""
        found = self.certificate
        counts = f"{found.lines:,} line entries of {found.entries:,} journal entries"
        ledgers = f"of the {len(self._books.books.ledgers):,} known ledgers"
        return f"The lines {ledgers} are all there: {counts}." if found.complete else found.summary()

    @property
    def compared(self) -> dict[str, ComparedPeriod]:
        """The comparison with the service's report of each compared period."""
        return self._books.compared

    @property
    def books_version(self) -> int | None:
        """Version of the local books that the pack was made from."""
        return self._books.books.version

    @property
    def calls(self) -> dict[str, str]:
        """Call that makes each statement, by the name of its table."""
        days = f'"{self._books.days.start_date}/{self._books.days.end_date}"'
        names = {"income": "income_statement", "cash_flow": "cash_flow_statement", "balance": "balance_sheet"}
        calls = {table: f"aa.{name}(books, {days}, columns=[...])" for table, name in names.items()}
        key = self._periods.key
        budget = f'aa.income_statement(books, "{key}", budget=budget)'
        last, first = self.period.end_date, self._periods.twelve_months[0].start_date
        return calls | {
            "budget": budget,
            "cash_bridge": f'aa.bridge(books, "{key}")',
            "key_ratios": f'aa.key_ratios(books, "{last}", depreciation=[...])',
            "twelve_months": f'aa.income_statement(books, "{first}/{last}", compare="total")',
        }

    @property
    def figures(self) -> pd.DataFrame:
        """Every figure of the tables: ``table``, ``key``, ``label``, ``text``, and its exact ``amount``."""
        rows = []
        for name, table in self.content.tables.items():
            for key, cell in table.shown():
                figure = None if cell.mark == "unknown" else table.figure(key)
                rows.append((name, key, figure.label if figure else key, cell.text, figure and figure.exact()))
        return pd.DataFrame(rows, columns=["table", "key", "label", "text", "amount"])

    @property
    def frame(self) -> pd.DataFrame:
        """The figures."""
        return self.figures

    def __getitem__(self, key: str) -> Figure:
        """Return the figure of a table and a key, separated by a colon."""
        name, colon, rest = key.partition(":") if isinstance(key, str) else ("", "", "")
        if not colon or name not in self.content.tables or KEY_SEPARATOR not in rest:
            tables = ", ".join(self.content.tables)
            raise InputError(f"{quote(key)} is not a figure; write table:row|column as in .figures, tables: {tables}")
        return self.content.tables[name].figure(rest)

    @cached_property
    def html(self) -> str:
        """The page: one file of HTML that loads nothing."""
        return self._render(self)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the page: the SHA-256 of its file, as ``sha256sum`` prints it."""
        return hashlib.sha256(self.html.encode()).hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write the page to a file that only its owner may read, which is replaced completely or left unchanged."""
        return write_text(to_path(path, "path"), self.html, private=True)

    def save_workbook(self, path: str | Path) -> None:
        """Write an Excel workbook: page one, statements with formulas and their entries, and the other tables.

        An existing file is replaced completely or left unchanged. The extra ``excel`` is needed.
        """
        first, last = self.period.start_date, self.period.end_date
        days = f"{day_label(first)} to {day_label(last)}, days in {self.period.time_zone}"
        appendix = {
            "Certificate of the load": [self.certificate_text],
            "Reconciliation": [f"{period.label}: {period.verdict}" for period in self.compared.values()],
            "Assumptions": self.content.assumptions,
        }
        texts = WorkbookTexts(
            self.title,
            ", ".join(filter(None, [days, currency_label(self.currency, self.amounts_in)])),
            f"{self.proof[:1].upper()}{self.proof[1:]}",
            [*(self.note or "").splitlines(), *self.sentences],
            appendix,
            self.fingerprint,
            self.unit_notes,
        )
        write_pack_workbook(self.content, texts, to_path(path, "path"))

    def summary(self) -> str:
        """One line of text: the company and period of the pack, and whether it is proven."""
        return f"{self.title}: {self.verdict}"

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart(self.sentences)
        unit = [f"Key figures, {currency_label(self.currency, self.amounts_in)}:"] if self.amounts_in else []
        figures = [f"{label}: {amount} ({note})" for label, amount, note in self.key_figures]
        lines = [*unit, *figures, *self.unit_notes]
        yield ResultPart(lines, html=lambda: figure_table_html(self.content.tables[KEY_FIGURES].table))

    def _content(self) -> dict[str, Any]:
        return {
            "company": self.company,
            "currency": self.currency,
            "start_date": self.period.start_date,
            "end_date": self.period.end_date,
            "time_zone": self.period.time_zone,
            "created_at": self.created_at,
            "proven": self.proven,
            "undecided": None if self.content.undecided is None else plain(self.content.undecided),
            "reasons": self.reasons,
            "sentences": self.sentences,
            "fingerprint": self.fingerprint,
            "figures": self.figures,
        }
