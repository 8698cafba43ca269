"""Statements of banks as OFX or QFX files; ofxtools parses them."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from accounting_analytics.errors import AmountError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.money import EXACT, format_amount, parse_amount
from accounting_analytics.periods import local_date, zone
from accounting_analytics.service.imports.statement_lines import StatementLine, statement_books

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks

_VALUE = re.compile(r"<(TRNAMT|DTPOSTED|BALAMT)>([^<]*)")
_FITID = re.compile(r"<FITID>([^<]*)")
_AMOUNT = re.compile(r"[+-]?\d+([.,]\d*)?|[+-]?[.,]\d+")
_VALID = {"TRNAMT": _AMOUNT, "BALAMT": _AMOUNT, "DTPOSTED": re.compile(r"\d{8}(\d{6}(\.\d{3})?)?(\[.*\])?")}
_NAMES = {"TRNAMT": "an amount", "BALAMT": "an amount", "DTPOSTED": "a day"}
_BANK, _CARD = "assets:bank", "liabilities:credit card"


def is_ofx(path: Path) -> bool:
    """Whether a file is OFX, by its first bytes."""
    with path.open("rb") as file:
        start = file.read(500).lstrip(b"\xef\xbb\xbf \r\n")
    return start.startswith((b"OFXHEADER", b"<?OFX", b"<OFX")) or (start.startswith(b"<?xml") and b"<?OFX" in start)


def read_ofx(path: Path, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the transactions of the one account of a file, and the balance that the bank states."""
    parser = import_extra("ofxtools.Parser", "ofx", f"{path.name} is an OFX file, which")
    tree = parser.OFXTree()
    try:
        with path.open("rb") as file:
            tree.parse(file)
        statements = list(tree.convert().statements)
    except Exception as error:  # noqa: BLE001 (ofxtools raises what its many parts raise)
        _name_invalid_values(path, errors)
        errors.fail(f"it is not valid OFX ({quote(str(error), limit=200)})")
    if others := {type(one).__name__ for one in statements} - {"STMTRS", "CCSTMTRS"}:
        errors.fail(f"it has a statement that is neither of a bank account nor of a card: {join_ids(others)}")
    accounts = [_account_number(one) for one in statements]
    if len(set(accounts)) != 1:
        errors.fail(f"it has {len(set(accounts))} accounts ({join_ids(accounts)}); a statement is of one")
    account = options.account or (_CARD if _is_card(statements[0]) else _BANK)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(_lines_of(path), start=1):
        for fitid in _FITID.findall(line):
            places[fitid.strip()].append(number)
    lines = [line for one in statements for line in _lines(one, places, options, errors)]
    lines.sort(key=lambda line: line.day)
    notes = [f"account {accounts[0]} in {statements[0].curdef} became {account} (--account gives another)"]
    stated = getattr(statements[-1], "ledgerbal", None)
    opening = None
    if stated is not None and lines:
        total = reduce(EXACT.add, [line.amount for line in lines])
        opening = EXACT.subtract(parse_amount(stated.balamt, options.scale).amount, total)
        notes.append(f"the bank states a balance of {format_amount(stated.balamt)} on {stated.dtasof.date()}")
    return statement_books(lines, opening, account, options=options, errors=errors, notes=notes)


def _name_invalid_values(path: Path, errors: ImportErrors) -> None:
    """Refuse a file with the lines of amounts and days that are not valid, where there are any."""
    for number, line in enumerate(_lines_of(path), start=1):
        for tag, value in _VALUE.findall(line):
            if not _VALID[tag].fullmatch(value.strip()):
                errors.add(f"line {number}", f"{quote(value.strip())} is not {_NAMES[tag]}")
    errors.raise_if_any()


def _lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="latin-1").splitlines()


def _account_number(statement: Any) -> str:  # noqa: ANN401 (a statement of ofxtools)
    origin = statement.ccacctfrom if _is_card(statement) else statement.bankacctfrom
    return str(origin.acctid)


def _is_card(statement: Any) -> bool:  # noqa: ANN401 (a statement of ofxtools)
    return type(statement).__name__ == "CCSTMTRS"


def _lines(
    statement: Any,  # noqa: ANN401 (a statement of ofxtools)
    places: Mapping[str, list[int]],
    options: ImportOptions,
    errors: ImportErrors,
) -> list[StatementLine]:
    local = zone(options.time_zone)
    lines = []
    for one in statement.banktranlist or ():
        name = getattr(one, "name", None) or (one.payee.name if getattr(one, "payee", None) else "")
        text = " ".join(str(name or one.memo or one.trntype).split())
        is_midnight = one.dtposted.time() == one.dtposted.time().min  # a day without a time
        day = one.dtposted.date() if is_midnight else local_date(one.dtposted, local)
        found = places.get(one.fitid)
        location = f"line {found.pop(0)}" if found else f"transaction {one.fitid}"
        try:
            amount = parse_amount(Decimal(one.trnamt), options.scale).amount
        except AmountError as error:
            errors.add_line(location, str(error), None, date=day.isoformat(), description=text)
            continue
        lines.append(StatementLine(location, day, amount, text, str(one.memo or ""), str(one.fitid)))
    return lines
