"""Journal entries as files state them, and checks of their ids, texts and amounts.

The entries are plain values without checks: :func:`check_entry` checks an entry that is posted or shown.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from hashlib import sha256

import msgspec

from accounting_analytics.core.errors import AmountError, PostingRefusedError
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units

MAX_LENGTH = 200
MAX_DIGITS = 18
REVIEW_STATUSES = ("reviewed", "unreviewed")
LINE_TEXTS = ("description",)
"""Texts of a line that are posted, stored, returned and loaded unchanged.

Each is a field of :class:`NewLine`, and of ``LineRow`` and ``LineEntry`` of the service, with the same name.
"""

_MIN_LINES = 2
_ID_DIGITS = 24
_MAX_TAG_LENGTH = 500
# instants that every time zone can convert
_FIRST = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)


class NewTransaction(msgspec.Struct, frozen=True, gc=False):
    """The transaction of a line on a ledger with a financial account type."""

    description: str = ""
    personal: bool = False
    review_status: str = "unreviewed"
    source_account_id: str | None = None
    id: str | None = None


class NewTag(msgspec.Struct, frozen=True, order=True, gc=False):
    """A tag, identified by the names of its group and itself."""

    group: str
    name: str


class NewLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a journal entry, in signed minor units: a debit is positive, and zero is a debit.

    The ledger is named by its id, or by its name in the file. Only a line on a ledger with a financial account type has
    a transaction. If none is given, it is created.
    """

    ledger_id: str
    units: int
    description: str = ""
    transaction: NewTransaction | None = None
    tags: tuple[NewTag, ...] = ()
    id: str | None = None


class NewJournalEntry(msgspec.Struct, frozen=True, gc=False):
    """A journal entry at an aware instant: at least two lines, with debits equal to credits."""

    datetime: dt.datetime
    description: str
    lines: list[NewLine]
    id: str | None = None


def check_entry(entry: NewJournalEntry, scale: int) -> None:
    """Refuse an entry with a wrong instant, line count, balance or text."""
    _check_instant(entry.datetime)
    if len(entry.lines) < _MIN_LINES:
        raise PostingRefusedError(f"an entry has at least {_MIN_LINES} lines, not {len(entry.lines)}")
    if sum([line.units for line in entry.lines]):
        raise PostingRefusedError(_describe_imbalance(entry, scale))
    check_text(entry.description, "description")
    for line in entry.lines:
        for name in LINE_TEXTS:
            check_text(getattr(line, name), f"line {name}")
        if line.transaction is not None:
            _check_transaction(line.transaction)
        for tag in line.tags:
            for name in (tag.group, tag.name):
                if not check_text(name, "tag name", most=_MAX_TAG_LENGTH):
                    raise PostingRefusedError("a tag and its group need a name")


def _check_instant(moment: dt.datetime) -> None:
    if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
        raise PostingRefusedError(f"datetime {moment} has no time zone; give an aware datetime")
    if not _FIRST <= moment < _LAST:
        raise PostingRefusedError(f"datetime {moment} is too close to the end of the calendar")


def _check_transaction(transaction: NewTransaction) -> None:
    if transaction.review_status not in REVIEW_STATUSES:
        raise PostingRefusedError(f"unknown status {transaction.review_status!r} of a transaction")
    check_text(transaction.description, "transaction description")
    if transaction.source_account_id is not None:
        check_text(transaction.source_account_id, "source_account_id")


def _describe_imbalance(entry: NewJournalEntry, scale: int) -> str:
    debits = sum(max(line.units, 0) for line in entry.lines)
    credits_ = -sum(min(line.units, 0) for line in entry.lines)
    shown = [format_amount(from_minor_units(units, scale)) for units in (debits, credits_)]
    return f"debits {shown[0]} do not equal credits {shown[1]}"


def derived_id(prefix: str, *texts: str) -> str:
    """Derive an id with a prefix from texts."""
    return f"{prefix}_{sha256(chr(0).join(texts).encode('utf-8', 'surrogatepass')).hexdigest()[:_ID_DIGITS]}"


def is_valid_id(identifier: str) -> bool:
    """Return whether a text can be an id. Other texts need no query."""
    if not isinstance(identifier, str) or not 0 < len(identifier) <= MAX_LENGTH:
        return False
    return identifier not in {".", ".."} and "/" not in identifier and identifier.isprintable()


def check_id(identifier: str, what: str) -> str:
    """Return an id. Refuse an id that a URL path cannot contain."""
    if not is_valid_id(identifier):
        raise PostingRefusedError(
            f"{what} id {str(identifier)[:60]!r} cannot be used: "
            f"an id has 1 to {MAX_LENGTH} printable characters, no '/', and is not '.' or '..'"
        )
    return identifier


def check_text(value: str, what: str, *, most: int | None = None) -> str:
    """Return a text. Refuse a text that is too long, or has characters that no database stores."""
    if not isinstance(value, str) or "\0" in value or not (value.isascii() or _is_unicode(value)):
        raise PostingRefusedError(f"{what} must be Unicode text without NUL characters")
    if most is not None and len(value) > most:
        raise PostingRefusedError(f"{what} has {len(value)} characters, more than {most}")
    return value


def _is_unicode(value: str) -> bool:
    """Return whether UTF-8 can encode a text. It cannot encode lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_units(amount: Decimal, scale: int) -> int:
    """Convert an amount to minor units. Refuse fractions, and more than 18 digits."""
    if not isinstance(amount, Decimal):
        raise AmountError(f"an amount is a Decimal, not {amount!r}")
    if not amount.is_finite():
        raise AmountError(f"amount {amount} is not a finite amount")
    if amount and amount.adjusted() >= MAX_DIGITS - scale:
        raise AmountError(
            f"amount with {amount.adjusted() + 1} digits before the point is too large: "
            f"at scale {scale} the books keep {MAX_DIGITS - scale}"
        )
    return to_minor_units(amount, scale)
