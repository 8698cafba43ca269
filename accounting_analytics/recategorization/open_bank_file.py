"""`open_bank_file`: open the file of a bank account or card as books."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from accounting_analytics.core.arguments import require_type, to_path, to_texts
from accounting_analytics.core.errors import AmountError, InputError
from accounting_analytics.core.fiscal_years import require_month, to_period
from accounting_analytics.core.ledger_names import PATH_SEPARATOR
from accounting_analytics.core.load_metadata import notes
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import DEFAULT_SCALE, check_scale, parse_amount
from accounting_analytics.core.periods import Period, choose_zone
from accounting_analytics.journals.accounts import REQUIRED_ACCOUNTS, TYPE_OF_ROOT
from accounting_analytics.journals.bank_file import read_bank_file
from accounting_analytics.journals.bank_further_columns import DIRECTIONS, BankFileChoices
from accounting_analytics.journals.csv_cells import DECIMAL_MARKS
from accounting_analytics.journals.csv_days import DATE_ORDERS
from accounting_analytics.journals.file_entries import FileEntries, ReadOptions
from accounting_analytics.loading.open_journal_and_table import OUTCOME, books_of_file
from accounting_analytics.loading.read_line_entries import check_midnights
from accounting_analytics.recategorization.decisions import each_of, read_decisions
from accounting_analytics.recategorization.proposals import propose
from accounting_analytics.recategorization.queue import uncategorized_queue
from accounting_analytics.recategorization.rules import Rules, load_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.recategorization.decisions import Decisions
    from accounting_analytics.reports.books.value import Books, PeriodLike

_NONE: Mapping[str, Any] = {}


def open_bank_file(
    path: str | Path,
    *,
    account: str,
    time_zone: ZoneLike,
    currency: str,
    date: str | None = None,
    text: str | Sequence[str] | None = None,
    amount: str | Sequence[str] | None = None,
    date_order: str | None = None,
    decimal_mark: str | None = None,
    direction: str | Sequence[str] | Mapping[str, Mapping[str, str]] | None = None,
    not_booked: Mapping[str, str | Sequence[str]] | None = None,
    balance: str | None = None,
    opening: Decimal | int | str | None = None,
    closing: Decimal | int | str | None = None,
    midnights: Literal["days", "instants"] | None = None,
    period: PeriodLike = None,
    only: Mapping[str, str | Sequence[str]] = _NONE,
    entry_id: str | None = None,
    decisions: Decisions | Sequence[Decisions] | None = None,
    rules: Rules | str | Path | None = None,
    categories: Iterable[str] = (),
    scale: int | None = None,
    company: str | None = None,
    fiscal_year_start_month: int = 1,
    encoding: str = "utf-8",
) -> Books:
    """Open the CSV file of a bank account or card as books, without a service.

    Each booked row is an entry: the account, and a category by `decisions` or `rules`, else one of the two
    uncategorized ledgers. What a file can mean in two ways is stated; left out, it is refused with what the first rows
    would be by each reading. Balances that are stated are compared with the rows. The notes say which balances were
    compared, or that none was.

    Parameters
    ----------
    path : str or Path
        The file: UTF-8 or UTF-16, separated by commas, semicolons, tabs or bars. Lines above the headings are not rows.
    account : str
        Path of the account that it is of, such as ``assets:bank:checking`` or ``liabilities:card``.
    time_zone : str or ZoneInfo
        Zone that days are counted in, and that times without an offset are of.
    currency : str
        Code of the currency; amounts in another one are refused.
    date, amount : str
        Headings of the columns. Two of `amount`, such as ``["Paid out", "Paid in"]``, are of two directions.
    text : str or sequence of str
        Headings of texts. The first that a row has is its counterparty, which decisions and rules compare.
    date_order : {"day month year", "month day year", "year month day"}
        Order of the parts of a day.
    decimal_mark : {".", ","}
        Mark before the cents.
    direction : str, sequence of str, or mapping
        ``"minus is out"`` or ``"minus is in"``; or ``"out"`` or ``"in"`` for amounts without a sign, one for each
        column of `amount`; or a column and what each text in it means: ``{"D/C": {"D": "out", "C": "in"}}``.
    not_booked : mapping of str to texts
        Columns, and their texts in rows that are not booked: ``{"Status": ["Pending", "Declined"]}``; ``{}`` if there
        are none. ``{"Status": []}`` books rows whose text there sounds like one of these.
    balance : str, optional
        Heading of the balance after each row.
    opening, closing : Decimal, int or str, optional
        Balances before the first and after the last row, as a statement prints them: positive for money in an account,
        and for what is owed on a card. Those that the file states above its headings are found.
    midnights : {"days", "instants"}, optional
        What times of UTC are where all are midnights: those days, or the instants themselves.
    period : period-like, optional
        The days that the file is of; rows of others are refused. By default those from its first to its last row.
    only : mapping of str to texts, optional
        Columns, and their texts in the rows that are read, where a file has several accounts or currencies.
    entry_id : str, optional
        Heading of ids, each of one row; by default ids follow from the account, the day, the texts and the amount.
    decisions : mapping, path, or sequence of these, optional
        Category of each ``group_id`` or ``transaction_id``, or a file of them, as of
        :func:`~accounting_analytics.decide`. They replace what rules decide.
    rules : Rules or path, optional
        Rules, or the file of them, as of :func:`~accounting_analytics.load_rules`.
    categories : iterable of str
        Paths of further ledgers, such as ``expenses:rent``, which a :func:`~accounting_analytics.review` offers. Those
        that decisions and rules name are there without it.
    scale : int, optional
        Fraction digits of the amounts, 2 by default.
    company : str, optional
        Shown in every heading.
    fiscal_year_start_month : int
        Month that years and quarters are counted from.
    encoding : str
        Of the text, where it is not Unicode, such as ``cp1252``.

    Returns
    -------
    Books
        With an opening balance, which is an entry at the start of the first day, balances are known; without one, they
        are movements. What is left uncategorized is in :func:`~accounting_analytics.uncategorized_queue`.

    Raises
    ------
    ImportRefusedError
        A decision is not stated, a row cannot be read, or a balance does not follow from the rows; with the lines.
    InputError
        An argument, a decision or a rule cannot be used.

    Examples
    --------
    ::

        books = aa.open_bank_file(
            "march.csv", account="assets:bank:checking", time_zone="America/New_York", currency="USD",
            date="Date", text=["Payee", "Details"], amount="Amount", balance="Balance", rules="rules.toml",
            date_order="month day year", decimal_mark=".", direction="minus is out", not_booked={"Status": "Pending"},
        )
        aa.income_statement(books)
    """
    require_month(fiscal_year_start_month)
    zone_name = choose_zone(time_zone).name
    if midnights is not None:
        check_midnights(midnights, time_zone)
    days = None
    if period is not None:
        days = to_period(period, "period", fiscal_year_start_month, time_zone=zone_name)
    digits = DEFAULT_SCALE if scale is None else check_scale(scale)
    given = BankFileChoices(
        account=_account(account),
        currency=_text(currency, "currency", "pass its code, such as 'USD'"),
        date=date,
        text=to_texts(text),
        amount=to_texts(amount),
        date_order=_one_of(date_order, DATE_ORDERS, "date_order"),
        decimal_mark=_one_of(decimal_mark, DECIMAL_MARKS, "decimal_mark"),
        direction=_direction(direction, to_texts(amount)),
        not_booked=None if not_booked is None else _texts(not_booked, "not_booked"),
        only=_texts(only, "only"),
        balance=balance,
        entry_id=entry_id,
        opening=_balance(opening, "opening", digits),
        closing=_balance(closing, "closing", digits),
        period=days,
        encoding=encoding,
    )
    options = ReadOptions(time_zone=zone_name, scale=digits, midnights=midnights, outcome=OUTCOME)
    read = FileEntries(to_path(path, "path"), options)
    of_file = read_bank_file(given, read)
    read.check()
    chosen = rules if rules is None or isinstance(rules, Rules) else load_rules(rules)
    read.named = _named_paths(categories, decisions, chosen)
    known = Period(of_file.first, of_file.last, zone_name)
    of_books: dict[str, Any] = {
        "cash": [given.account],
        "first_entry": of_file.books_start,
        "period": known,
        "company": company,
        "currency": currency,
        "fiscal_year_start_month": fiscal_year_start_month,
    }
    books = books_of_file(read, known, **of_books)
    if chosen is None and decisions is None:
        return books
    proposals = propose(uncategorized_queue(books, known), chosen, books, decisions=decisions)
    _categorize(read, proposals, books)
    read.notes += [note.removesuffix(".") for note in notes(proposals)]
    return books_of_file(read, known, **of_books)


def _categorize(read: FileEntries, proposals: Any, books: Books) -> None:  # noqa: ANN401 (a frame of proposals)
    """Move the second line of each proposed entry to the proposed category."""
    columns = (proposals[name] for name in ("journal_entry_id", "updated_category_ledger_id"))
    for entry_id, ledger_id in zip(*columns, strict=True):
        entry, path = read.entries[entry_id], books.names.path(ledger_id)
        own, other = entry.lines
        entry.lines[:] = [own, msgspec.structs.replace(other, ledger_id=path)]
        read.accounts.setdefault(path, read.locations[entry_id])


def _named_paths(categories: Iterable[str], decisions: Any, rules: Rules | None) -> list[str]:  # noqa: ANN401 (of propose)
    """List the ledger paths that the arguments name, and required ledgers."""
    decided = [category for source in each_of(decisions) for category, _ in read_decisions(source).values()]
    of_rules = [rule.category for rule in rules or ()]
    paths = [path for path in (*decided, *of_rules) if _has_type(path)]
    return [*dict.fromkeys([*to_texts(categories), *paths, *(account.name for account in REQUIRED_ACCOUNTS.values())])]


def _has_type(path: object) -> bool:
    """Return whether the first part of a path is a type."""
    root, separator, _ = str(path).partition(PATH_SEPARATOR)
    return bool(separator) and root.lower() in TYPE_OF_ROOT


def _account(account: object) -> str:
    """Check the path of a bank account or card."""
    path = _text(account, "account", "pass its path, such as 'assets:bank:checking'")
    if path.partition(PATH_SEPARATOR)[0].lower() not in {"asset", "assets", "liability", "liabilities"}:
        raise InputError(
            f"account is {quote(path)}: a bank account is a path below assets, and a card one below liabilities, such "
            "as 'assets:bank:checking' or 'liabilities:card'"
        )
    return path


def _text(value: object, name: str, hint: str) -> str:
    require_type(value, str, name, hint)
    if not str(value).strip():
        raise InputError(f"{name} is empty; {hint}")
    return str(value).strip()


def _balance(amount: Decimal | int | str | None, name: str, scale: int) -> Decimal | None:
    try:
        return None if amount is None else parse_amount(amount, scale).amount
    except AmountError as error:
        raise InputError(f"{name}: {error}") from None


def _one_of(value: str | None, possible: Sequence[str], name: str) -> str | None:
    if value is not None and value not in possible:
        raise InputError(f"{name} is {quote(value)}, and not one of {', '.join(map(quote, possible))}")
    return value


def _texts(given: Mapping[str, str | Sequence[str]], name: str) -> dict[str, tuple[str, ...]]:
    """Convert the texts of each column to a tuple."""
    require_type(given, Mapping, name, "pass a column and its texts, such as {'Status': ['Pending']}")
    return {column: to_texts(texts) for column, texts in given.items()}


def _direction(direction: object, columns: Sequence[str]) -> Any:  # noqa: ANN401 (one of the forms of BankFileChoices)
    """Check the direction of the columns of amounts."""
    if direction is None:
        return None
    forms = f"one of {', '.join(map(quote, DIRECTIONS))}, one for each column of amounts, or {{'D/C': {{'D': 'out'}}}}"
    if isinstance(direction, Mapping):
        meanings = [*direction.values()]
        if len(meanings) == 1 and isinstance(meanings[0], Mapping) and {*meanings[0].values()} <= {*DIRECTIONS}:
            return direction
        raise InputError(f"direction is {quote(direction)}, and not {forms}")
    if len({*columns}) < len(columns):
        raise InputError(f"amount names a column twice ({', '.join(map(quote, columns))})")
    words = to_texts(direction) if isinstance(direction, str | list | tuple) else ()
    if not words or not {*words} <= {*DIRECTIONS}:
        raise InputError(f"direction is {quote(direction)}, and not {forms}")
    if columns and len(words) != len(columns):
        raise InputError(f"direction has {len(words)} for {len(columns)} columns of amounts: state one for each")
    return words
