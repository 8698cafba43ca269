"""Merchants: the examples of each step, noisy texts of known merchants, texts of the demo company, spellings."""

import random
import unicodedata
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.name_keys import name_key, upper_name
from accounting_analytics.pack.pack_files import pack_name
from accounting_analytics.reports.books.merchants import STEPS, apply_step, merchants

MERCHANTS = (
    # ordinary names
    "BLUE BOTTLE COFFEE", "SWEETGREEN", "STAPLES", "HOME DEPOT", "OFFICE DEPOT", "RESTAURANT DEPOT",
    "DELTA AIR LINES", "UNITED AIRLINES", "FEDEX OFFICE", "UPS STORE", "SHELL OIL", "EXXONMOBIL", "TRADER JOES",
    "WHOLE FOODS MARKET", "JOES PIZZA", "JOES STONE CRAB", "GOOGLE ADS", "GOOGLE CLOUD", "GOOGLE WORKSPACE",
    "AMAZON WEB SERVICES", "AMZN MKTP", "ADOBE CREATIVE CLOUD", "ADOBE STOCK", "MICROSOFT AZURE",
    "MICROSOFT OFFICE", "GREENPOINT PLUMBING", "GREENPOINT HARDWARE", "HUDSON VALLEY FRESH", "HUDSON NEWS",
    "CON EDISON", "NATIONAL GRID", "VERIZON WIRELESS", "VERIZON FIOS", "TARGET", "COSTCO GAS",
    "COSTCO WHOLESALE", "STARBUCKS", "DUNKIN", "CITY OF NEW YORK PARKING", "NYC DOHMH PERMIT",
    "BALTHAZAR BAKERY", "ULINE", "GRAINGER", "WEBSTAURANT STORE", "LYFT RIDE", "UBER TRIP", "UBER EATS",
    "NETFLIX", "SPOTIFY", "ZOOM VIDEO COMMUNICATIONS",
    # names with digits, short names, names that look like noise
    "7-ELEVEN", "STUDIO 54", "FOREVER 21", "PIER 39", "24 HOUR FITNESS", "1-800-FLOWERS", "3M", "H&M",
    "MOTEL 6", "FIVE 9 SOFTWARE", "A1 TAXI", "A2 HOSTING", "CARD FACTORY", "THE STORE ROOM", "DATE NIGHT CAFE",
    "REF MARKET", "PURCHASE COLLEGE", "VISA BOOKSHOP", "OHIO BREWING", "BANK OF TEA", "POS SYSTEMS",
    "DEBIT BAR",
)  # fmt: skip
"""True names of merchants."""

CITIES = ("BROOKLYN NY", "SAN FRANCISCO CA", "OAKLAND CA", "AUSTIN TX", "NEW YORK NY")
NOISE = (
    *("plain", "processor", "store_number", "store_number_and_city", "reference", "card", "date"),
    *("bank_prefix", "code_after_star", "telephone", "punctuation", "company_form"),
)
"""Kinds of noise that processors, terminals and banks add to a name."""


def make_statement_texts(seed):
    """Return pairs of statement text and true merchant, for each merchant and kind of noise."""
    rng = random.Random(seed)  # noqa: S311 (repeatable tests)
    texts = [(_noisy(merchant, kind, rng), merchant) for merchant in MERCHANTS for kind in NOISE for _ in range(2)]
    rng.shuffle(texts)
    return texts


def _noisy(merchant, kind, rng):
    def digits(count):
        return "".join(rng.choice("0123456789") for _ in range(count))

    def code(count):
        return "".join(rng.choice("0123456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(count))

    day = f"{rng.randint(1, 12):02}/{rng.randint(1, 28):02}"
    iso = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    prefixes = (
        *("POS PURCHASE", "DEBIT CARD PURCHASE", f"CHECKCARD {day.replace('/', '')}", "ACH DEBIT"),
        *("RECURRING PAYMENT", f"PURCHASE AUTHORIZED ON {day}"),
    )
    choices = {
        "plain": [merchant, merchant.lower(), merchant.title()],
        "processor": [f"{mark}{merchant}" for mark in ("SQ *", "TST* ", "PAYPAL *", "SP * ", "PY *")],
        "store_number": [f"{merchant} #{digits(4)}", f"{merchant} {digits(5)}", f"{merchant} STORE {digits(3)}"],
        "store_number_and_city": [
            f"{merchant} #{digits(4)} {rng.choice(CITIES)}",
            f"{merchant} {digits(5)} BROOKLYN NY",
        ],
        "reference": [f"{merchant} REF {digits(9)}", f"{merchant} CONF#{code(8)}1", f"{merchant} INV {digits(6)}"],
        "card": [f"{merchant} XXXX{digits(4)}", f"{merchant} CARD {digits(4)}", f"{merchant} ENDING IN {digits(4)}"],
        "date": [f"{merchant} {day}", f"{merchant} {day}/26", f"{merchant} {iso}"],
        "bank_prefix": [f"{prefix} {merchant}" for prefix in prefixes],
        "code_after_star": [f"{merchant}*{code(3)}{digits(2)}{code(3)}", f"{merchant} *{digits(9)}"],
        "telephone": [f"{merchant} {digits(3)}-{digits(3)}-{digits(4)}", f"{merchant} 800-{digits(3)}-{digits(4)} CA"],
        "punctuation": [f"  {merchant.replace(' ', '   ')}. ", f"{merchant},"],
        "company_form": [f"{merchant} INC", f"{merchant}, LLC", f"{merchant} CORP."],
    }
    return rng.choice(choices[kind])


@pytest.mark.parametrize(("step", "before", "after"), [(step, *example) for step in STEPS for example in step.examples])
def test_examples_of_the_steps(step, before, after):
    assert apply_step(step, pa.array([before])).to_pylist() == [after]


@pytest.mark.parametrize("seed", range(5))
def test_noisy_texts_of_known_merchants_meet(seed):
    texts = make_statement_texts(seed)
    names, true_names = defaultdict(set), defaultdict(set)
    for (_, merchant), name in zip(texts, merchants([text for text, _ in texts]), strict=True):
        names[merchant].add(name)
        true_names[name].add(merchant)
    assert [found for found in true_names.values() if len(found) > 1] == []
    assert len(names) == 72
    assert sum(len(found) > 1 for found in names.values()) <= 2


def test_texts_of_the_demo_company_meet():
    database = pq.read_table(Path(aa.__file__).parent / "demo_company" / "line_entries.parquet")
    texts = database["transaction_description"].drop_null().unique().to_pylist()
    assert len(texts) > 2_500
    assert len(set(merchants(texts))) < 200


@pytest.mark.parametrize("text", ["", "12345", "#0412", "2026-01-31", "***", "SQ *", "CHECK 1043", "CHECK #1043"])
def test_a_text_without_a_name_is_kept(text):
    assert merchants([text, f"  {text.lower()}  "]) == [text, text]


def test_case_and_spaces_do_not_matter():
    assert merchants(["Café  Élan #123", "CAFÉ ÉLAN", "喫茶店 1234", ""]) == ["CAFÉ ÉLAN", "CAFÉ ÉLAN", "喫茶店", ""]


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
def test_spellings_of_a_name_are_one_everywhere(spelling):
    assert name_key(spelling) == name_key(NAME)
    assert merchants([spelling]) == merchants([NAME])
    ledgers = aa.LedgerNames({"one": NAME, "two": "Caf\u00e9"}, Hierarchy({"one": "two"}))
    assert ledgers.find(spelling) == ledgers.find(f"cafe\u0301:{spelling}") == "one"
    assert pack_name(spelling, aa.Period.parse("2026-05")) == pack_name(NAME, aa.Period.parse("2026-05"))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u0131\U0001d6a4")))
def test_a_key_is_that_of_itself(text):
    assert name_key(name_key(text)) == name_key(text)
    assert name_key(upper_name(text)) == name_key(text)
