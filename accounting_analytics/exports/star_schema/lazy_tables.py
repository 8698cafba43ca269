"""The tables of the star schema, each made when it is asked for: a query of few tables does not wait for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.exports.star_schema.build import make_transactions, report_lines, whole_database
from accounting_analytics.exports.star_schema.query_database import query_of
from accounting_analytics.exports.star_schema.table_definitions import DIM_TRANSACTION, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from accounting_analytics.exports.books import ExportedBooks, MonthProof
    from accounting_analytics.exports.star_schema.build import Tables

_CASH_MOVEMENT = "cash_movement"
_REPORT_LINE = "report_line"


class LazyTables:
    """The tables of ``STAR_SCHEMA`` by name; each is made once, after those that its query reads."""

    def __init__(self, books: ExportedBooks, proofs: Mapping[str, MonthProof]) -> None:
        self._books = books
        self._database = whole_database(books, proofs)
        self._made: Tables = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> pa.Table:
        if name == DIM_TRANSACTION.name:
            return make_transactions(self._database, [self._books])
        if name == _REPORT_LINE:
            rows = report_lines(self._books)
        else:
            for other in self._database.tables_in(query_of(name)) & {*TABLES, _CASH_MOVEMENT, _REPORT_LINE}:
                _ = self[other]
            if name in TABLES:
                return self._database.make(TABLES[name])
            rows = self._database.rows(name)
        self._database.add(**{name: rows})
        return rows
