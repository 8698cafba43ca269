"""The database with the star schema of exported books.

Each table is the query of its name in this folder, run by DuckDB. The queries read the books, ``source.line`` and the
other tables of ``source``, and each other. Amounts in queries have 38 digits, so that no sum is rounded or too long.
Amounts in the tables have 18 digits.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import ARROW

from accounting_analytics.core.duckdb_settings import WITHOUT_EXTENSIONS
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import count_of, join_ids, shorten
from accounting_analytics.core.version import __version__
from accounting_analytics.exports.books_to_export import arrow_table, compare_with_report, local_times, with_dates
from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.tables import AMOUNT, DIGITS, STAR_SCHEMA, VIEWS
from accounting_analytics.reports.books.category_ledgers import uncategorized_ledgers
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.books.payees import parties_of_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.exports.books_to_export import ExportedBooks
    from accounting_analytics.exports.star_schema.tables import StarTable


_MEMORY, THREADS = "500MB", 2
"""Limits of a database that may write temporary files. Each thread needs memory to sort and compress rows."""
_STORAGE = "v1.0.0"
"""Oldest version of DuckDB that must read the file, because connectors of BI tools contain older versions."""
_ABSENT = {
    "transaction_review_status": "null::varchar",
    "transaction_posted_status": "null::varchar",
    "transaction_personal": "null::boolean",
    "source_account_id": "null::varchar",
    "tag_names": "null::varchar",
    "tag_group_ids": "null::varchar",
    "transaction_description": "description",
}
"""Values for columns of lines that were not loaded."""
_MONTH_AND_EXPORT = """
create table source.month (
    month varchar, start_date date, end_date date,
    verdict varchar, read_at timestamptz, proven_at timestamptz, is_complete boolean
);
create table source.export (
    start_date date, end_date date, time_zone varchar, scale integer, is_partial boolean,
    known_ledgers varchar, notes varchar, package_version varchar, currency varchar, fiscal_start integer
);
"""


def connect(file: Path | None = None, *, spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open a new database, in memory or in a file, that may spill to a folder."""
    config = WITHOUT_EXTENSIONS | {"temp_directory": "", "storage_compatibility_version": _STORAGE}
    if spill is not None:
        config |= {"temp_directory": str(spill.absolute()), "memory_limit": _MEMORY, "threads": THREADS}
    database = duckdb.connect(":memory:" if file is None else str(file.absolute()), config=config)
    database.execute("set TimeZone = 'UTC'")
    return database


def build_star_schema(
    database: duckdb.DuckDBPyConnection,
    books: ExportedBooks,
    *,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
    has_keys: bool = False,
) -> None:
    """Create the tables of the star schema in a new database, with rows and comments, and create the views."""
    with attached_books(database, books, currency, fiscal_year_start_month):
        # a table is created after the tables that it refers to
        for table in sorted(STAR_SCHEMA, key=lambda table: bool(table.references)):
            database.execute(table.definition(books.report.scale, has_keys=has_keys))
            database.execute(f"comment on table {table.name} is {text_literal(f'One row is {table.grain}.')}")
            _insert(database, table, books.report.scale)
    for name, comment, query in all_views():
        database.execute(f"create view {name} as {query}")
        database.execute(f"comment on view {name} is {text_literal(comment)}")


@contextmanager
def attached_books(
    database: duckdb.DuckDBPyConnection, books: ExportedBooks, currency: str | None, fiscal_year_start_month: int
) -> Iterator[None]:
    """Attach the tables that queries read as ``source``, and add the functions that queries call.

    Books without proofs are compared with their report, and every month has the verdict of this comparison.
    """
    time_zone = books.period.time_zone
    database.create_function("merchant", _merchant, ["VARCHAR"], "VARCHAR", type=ARROW)
    database.create_function("party", _party, ["VARCHAR", "VARCHAR[]"], "VARCHAR", type=ARROW)
    database.create_function(
        "local_time", lambda instants: local_times(instants, time_zone), ["TIMESTAMPTZ"], "TIMESTAMP", type=ARROW
    )
    database.execute("attach ':memory:' as source")
    sources = _sources(books)
    for name, rows in sources.items():
        _register(database, name, rows)
    _insert_month_and_export(database, books, currency, fiscal_year_start_month)
    parties = database.sql(query_of("counterparty")).to_arrow_table().combine_chunks()
    for name in ("line", "report_line"):  # a join in the database would not keep the order of lines
        _register(database, name, _with_counterparties(sources[name], parties))
    sources["counterparty"] = parties.group_by(["counterparty_id", "counterparty"]).aggregate([])
    del parties
    _register(database, "counterparty", sources["counterparty"])
    for name in ("account", "cash_movement"):
        database.execute(f"create table source.{name} as {query_of(name)}")
    yield
    database.execute("detach source")
    for name in sources:
        database.unregister(f"{name}_rows")


def _sources(books: ExportedBooks) -> dict[str, pa.Table]:
    """Collect the rows that the queries read, by table."""
    return {
        "line": books.lines,
        "report_line": with_dates(arrow_table(books.report.exact().lines), books.period),
        "ledger": _ledgers(books),
        "starting_balance": arrow_table(books.report.exact().starting_balances),
    }


def _register(database: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Let queries read rows as a table of `source`."""
    pa.default_memory_pool().release_unused()  # otherwise the pool keeps memory that making the rows needed
    database.register(f"{name}_rows", rows)
    database.execute(f"create or replace view source.{name} as select *{_added(name, rows)} from {name}_rows")  # noqa: S608 (our own names)


def _with_counterparties(lines: pa.Table, parties: pa.Table) -> pa.Table:
    """Append the counterparty of each line's entry."""
    places = pc.index_in(lines["journal_entry_id"], parties["journal_entry_id"])
    return lines.append_column("counterparty_id", parties["counterparty_id"].dictionary_encode().take(places))


def _added(name: str, rows: pa.Table) -> str:
    """Write the columns that a query adds to the rows.

    The query adds the month, and columns that were not loaded.
    """
    added = {"month": "left(date::varchar, 7)"} if "date" in rows.column_names else {}
    if name == "line":
        added |= {column: value for column, value in _ABSENT.items() if column not in rows.column_names}
    return "".join(f", {value} as {column}" for column, value in added.items())


def _insert_month_and_export(
    database: duckdb.DuckDBPyConnection, books: ExportedBooks, currency: str | None, fiscal_year_start_month: int
) -> None:
    """Insert the proof of each month, and one row about the export."""
    period, months = books.period, books.period.months()
    proofs = books.proofs or dict.fromkeys((month.month for month in months), compare_with_report(database, books))
    database.execute(_MONTH_AND_EXPORT)
    rows = [(month.month, month.start_date, month.end_date, *proofs[month.month]) for month in months]
    database.executemany("insert into source.month values (?, ?, ?, ?, ?, ?, ?)", rows)
    days, notes = (period.start_date, period.end_date, period.time_zone), " ".join(books.notes) or None
    stated = (books.report.scale, books.is_partial, books.known_ledgers, notes, __version__)
    export = (*days, *stated, currency, fiscal_year_start_month)
    database.execute("insert into source.export values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", export)


def _insert(database: duckdb.DuckDBPyConnection, table: StarTable, scale: int) -> None:
    """Insert the rows of a table. An error names rows with too many digits."""
    query, key = query_of(table.name), ", ".join(table.key)
    try:
        database.execute(f"insert into {table.name} by name from ({query})")
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        for amount in [name for name, dtype in table.columns.items() if dtype == AMOUNT]:
            is_too_large = f"abs({amount}) >= 1e{DIGITS - scale}::decimal(38, {scale})"
            rows = database.execute(f"select {key} from ({query}) where {is_too_large}").fetchall()  # noqa: S608 (our own names)
            if rows:
                raise FrameError(
                    f"{table.name}: {count_of(len(rows), 'value')} of {amount} with more than {DIGITS} digits, which "
                    f"BI tools do not read exactly: {key} {join_ids(', '.join(map(str, row)) for row in rows)}; "
                    "nothing was written"
                ) from error
        raise FrameError(f"{table.name} cannot be calculated ({shorten(str(error))}); nothing was written") from error


def text_literal(value: str) -> str:
    """Quote text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def query_of(name: str) -> str:
    """Read the query of a table."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def all_views() -> Iterator[tuple[str, str, str]]:
    """Yield name, comment and query of each view, and of each question without parameters."""
    for name, (comment, query) in VIEWS.items():
        yield name, comment, query
    for question in map(Question.named, QUESTIONS):
        if "$" not in question.sql:
            yield question.name, f"{question.text} One row is {question.grain}", question.sql


def _merchant(texts: pa.ChunkedArray) -> pa.Array:
    """Find the merchant of each text, as a function for DuckDB."""
    return pa.array(merchants(texts.to_pylist()), pa.string())


def _party(paths: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.Array:
    """Find the party of each line, as a function for DuckDB."""
    given = [[text for text in row if text and text.strip()] for row in texts.to_pylist()]
    return pa.array(parties_of_lines(paths.to_pylist(), given), pa.string())


def _ledgers(books: ExportedBooks) -> pa.Table:
    """List the ledgers of chart, lines and report, with paths and roles."""
    ledgers, report, names = books.ledgers, books.report.exact(), LedgerNames.from_frame(books.ledgers)
    upwards = [[ledger_id, *names.hierarchy.ancestors(ledger_id)] for ledger_id in ledgers["id"]]
    cash = {*report.starting_balances["ledger_id"], *ledgers.loc[ledgers["report_cash_flow"], "id"]}
    chart = arrow_table(
        ledgers.assign(
            path=ledgers["id"].map(names.path),
            level=[len(ids) for ids in upwards],
            root_name=[names.name(ids[-1]) for ids in upwards],
            open_item_path=pa.array(map(books.open_items.get, ledgers["id"]), pa.string()),
            is_cash=ledgers["id"].isin(cash),
            is_uncategorized=ledgers["id"].isin(uncategorized_ledgers(ledgers)),
        )
    )
    of_lines = books.lines.group_by("ledger_id").aggregate([("ledger_name", "min")]).to_pandas()
    named_in = (of_lines, report.starting_balances[["ledger_id", "ledger_name"]], report.ledgers[["ledger_id", "name"]])
    named = {ledger_id: name for frame in named_in for ledger_id, name in frame.itertuples(index=False)}
    others = [
        {"id": ledger_id, "name": name, "path": name, "level": 1, "root_name": name, "sort_code": "",
         "report_cash_flow": False, "is_cash": ledger_id in cash, "is_uncategorized": False}
        for ledger_id, name in named.items() if ledger_id not in set(ledgers["id"])
    ]  # fmt: skip
    return pa.concat_tables([chart, pa.Table.from_pylist(others, chart.schema)])
