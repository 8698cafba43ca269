"""The form in which names are compared: one of all spellings of a name, in payees, rules, ledgers and files."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.name_keys import name_key, upper_name
from accounting_analytics.pack.pack_files import pack_name
from accounting_analytics.reports.merchants import merchants

NAME = "Caf\u00e9 Joe's Gro\u00dfhandel"
SPELLINGS = {
    "composed": NAME,
    "decomposed": unicodedata.normalize("NFD", NAME),
    "no-break space": NAME.replace(" ", "\u00a0"),
    "full width": NAME.replace("Joe", "\uff2a\uff4f\uff45"),
    "zero width": NAME.replace("Joe", "J\u200boe\u2060"),
    "soft hyphen": NAME.replace("handel", "\u00adhandel"),
    "right-to-left mark": f"\u200f{NAME}",
    "apostrophe": NAME.replace("'", "\u2019"),
    "case": NAME.upper(),
    "white space": f" {NAME.replace(' ', chr(0x3000) + chr(9))} ",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_a_name(spelling):
    """They are one payee, one rule, one ledger and one name of files."""
    assert name_key(spelling) == name_key(NAME)
    assert merchants([spelling]) == merchants([NAME])
    ledgers = aa.LedgerNames({"one": NAME, "two": "Caf\u00e9"}, Hierarchy({"one": "two"}))
    assert ledgers.find(spelling) == ledgers.find(f"cafe\u0301:{spelling}") == "one"
    assert pack_name(spelling, aa.Period.parse("2026-05")) == pack_name(NAME, aa.Period.parse("2026-05"))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u0131\U0001d6a4")))
def test_a_key_is_that_of_itself(text):
    """A key is its own key, and so is that of the capitals, but of an i without a dot, whose capital is that of i."""
    assert name_key(name_key(text)) == name_key(text)
    assert name_key(upper_name(text)) == name_key(text)
