"""The check of packs in Python: no alarm on genuine ones, every alteration found, other files and texts refused."""

import base64
import gzip
import hashlib
import json
import re
import zlib

import pytest
from alterations import ALTERATIONS, CALCULATED, DATA, alter, with_data
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from small_packs import PLAIN_NAMES, UNUSUAL_NAMES, data_of, make_books, page_html, shown_figures, write_pack

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.pack.page_format import MAX_DATA_BYTES, ZERO, agrees, pack_data, read_shown, value_text

OTHER = "0123456789abcdef" * 4
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


def faults(path, **options):
    return [(fault.what, fault.where) for fault in aa.verify_pack(path, **options).differences]


def rewritten(path, pattern, replacement):
    text = path.read_text(encoding="utf-8")
    altered = re.sub(pattern, lambda _: replacement, text, count=1)
    assert altered != text
    path.write_text(altered, encoding="utf-8", newline="\n")
    return path


def test_genuine_pack_has_no_fault_and_its_fingerprint(sent_pack):
    path, fingerprint = sent_pack
    result = aa.verify_pack(path, fingerprint=fingerprint)
    assert (result.verified, len(result.faults)) == (True, 0)
    assert (result.figures, result.stated, result.entries, result.unchecked) == (28, 1, 122, ())
    assert result.fingerprint == fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert result.summary().startswith("Verified: 28 figures of ")
    assert not any("No fingerprint" in note for note in result.notes)
    assert aa.verify_pack(path, fingerprint=f" {fingerprint[:8].upper()} {fingerprint[8:]}\n").verified


def test_a_dash_is_a_zero_and_not_an_unknown_amount(sent_pack):
    path, _ = sent_pack
    ((what, where),) = faults(rewritten(path, ">not known<", f">{ZERO}<"))
    assert what == "figure"
    assert "tax|2026-05" in where


def test_nested_elements_are_refused_at_once(sent_pack):
    path, _ = sent_pack
    rewritten(path, "</main>", f"{'<b>' * 50_000}</main>")
    with pytest.raises(InputError, match=r"nested more than 100 deep at line \d+"):
        aa.verify_pack(path)


@pytest.mark.parametrize("seed", range(50))
def test_no_alarm_on_genuine_packs(tmp_path, seed):
    names = UNUSUAL_NAMES if seed % 2 else PLAIN_NAMES
    sizes = {"transactions": (0, 1, 40, 200)[seed % 4], "scale": (2, 0, 3)[seed % 3], "largest": 10 ** (seed % 17 + 1)}
    path = tmp_path / "pack.html"
    fingerprint = write_pack(path, make_books(seed, names=names, **sizes))
    assert faults(path, fingerprint=fingerprint) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS, min_size=5, max_size=5), st.lists(TEXTS, min_size=4, max_size=4), TEXTS, st.integers(0, 10**18))
def test_no_alarm_on_any_names_and_amounts(tmp_path_factory, ledgers, payees, company, largest):
    printable = "".join(one if one.isprintable() else "?" for one in company)
    path = tmp_path_factory.mktemp("packs") / "pack.html"
    names = {"ledgers": ledgers, "payees": payees, "company": printable}
    fingerprint = write_pack(path, make_books(names=names, transactions=5, largest=largest))
    assert faults(path, fingerprint=fingerprint) == []


@pytest.mark.parametrize("name", [one for one in ALTERATIONS if "percentage" not in one])  # these packs have none
@pytest.mark.parametrize("seed", range(3))
def test_alterations_are_found_with_or_without_fingerprint(sent_pack, name, seed):
    path, fingerprint = sent_pack
    path.write_text(alter(name, seed, path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    assert ("fingerprint", "") in faults(path, fingerprint=fingerprint)
    assert bool(faults(path)) == (name in CALCULATED)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_change_of_the_file_is_found(sent_pack, data):
    path, fingerprint = sent_pack
    text = path.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text) - 1))
    length, inserted = data.draw(st.integers(0, 3)), data.draw(st.text("<>&\"' =ab0-\u00a0\n/!", max_size=4))
    altered = text[:start] + inserted + text[start + length :]
    assume(altered != text)
    path.with_name("altered.html").write_text(altered, encoding="utf-8", newline="\n")
    try:
        assert not aa.verify_pack(path.with_name("altered.html"), fingerprint=fingerprint).verified
    except InputError as error:
        assert "the pack" in str(error) or "is not a pack" in str(error)  # noqa: PT017 (either is right)


def test_faults_say_what_is_shown_and_what_follows_from_the_entries(sent_pack):
    path, _ = sent_pack
    rewritten(path, r'(?<=data-table="income" data-key="sales\|2026-05">)[^<]+', "1.00")
    (fault,) = aa.verify_pack(path).differences
    line = next(n for n, text in enumerate(path.read_text(encoding="utf-8").split("\n"), 1) if ">1.00<" in text)
    expected = next(one.text for one in shown_figures(make_books(7)) if one.key == "sales|2026-05")
    assert tuple(fault) == ("figure", f"Sales, May (income: sales|2026-05), line {line}", "1.00", expected)
    assert aa.verify_pack(path).faults.to_dict("records") == [fault._asdict()]
    assert json.loads(aa.verify_pack(path).to_json())["faults"] == [fault._asdict()]


@pytest.mark.parametrize(
    ("pattern", "replacement", "what", "where"),
    [
        (r'<b data-field="company">[^<]*', '<b data-field="company">Another', "company", "line"),
        (r"<p><b data-field=.company.>[^<]*</b>", "<p>", "company", "the page"),
        (r'data-field="currency"', 'data-field="money"', "money", "line"),
        ('2026-05-01T?(?=">1 May)', "2026-05-02", "start_date", "line"),
        (r'data-table="income"', 'data-table="other"', "figure", "other: "),
        (r"<tr><th scope.*?</tr>", "", "figure of the page", "income: sales|2026-04"),
        (r'data-key="sales\|change"', 'data-key="sales|2027"', "figure", "income: sales|2027"),
        (r'data-key="net\|2026-05"(?=>[^<]*</strong)', 'data-key="bank|2026-05"', "figure of the page", "bank|2026-05"),
        (r'data-form="magnitude"', 'data-form="x"', "figure", "sentences: cash|change"),
    ],
)  # fmt: skip
def test_contradictions_are_found_without_a_fingerprint(sent_pack, pattern, replacement, what, where):
    path, _ = sent_pack
    found = faults(rewritten(path, pattern, replacement))
    assert [one for one in found if one[0] == what and where in one[1]], found


def altered_data(path, change):
    text = path.read_text(encoding="utf-8")
    path.write_text(with_data(lambda _, data: change(data))(None, text), encoding="utf-8", newline="\n")
    return path


@pytest.mark.parametrize(
    ("name", "value", "what", "where"),
    [
        ("end_date", "2026-05-20", "days of a figure", "income: sales|2026-05"),
        ("end_date", "2026-05-20", "day of an entry", ""),
        ("start_date", "2026-06-01", "period", "the page"),
    ],
)
def test_days_that_contradict_the_period_are_found(sent_pack, name, value, what, where):
    found = faults(altered_data(sent_pack[0], lambda data: data.update({name: value})))
    assert [one for one in found if one[0] == what and where in one[1]], found


def test_figure_of_other_terms_is_a_fault(sent_pack):
    def change(data):
        data["tables"]["income"]["figures"]["net|2026-04"][2][0] = ["+", "sales|2026-05"]

    found = faults(altered_data(sent_pack[0], change))
    assert [one[0] for one in found] == ["figure"]
    assert found[0][1].startswith("Net income, April (income: net|2026-04), line ")


def another_amount(books):
    """Alter a line that no figure sums, so that its journal entry does not sum to zero."""
    books.lines[2][4] += 1


def another_day(books):
    """Move a line within its month, away from the other lines of its journal entry."""
    line = next(line for line in books.lines[2:] if books.dates[line[1]].endswith("-15"))
    line[1] += 1


def another_opening(books):
    """State a day of the opening balances that is after the first entry."""
    books.texts[4] = "Balance before 2026-05-20"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (another_amount, ("journal entry", "entry 1 of 2026-04-09")),
        (another_day, ("journal entry", "entry 4")),
        (another_opening, ("opening balances", "entries")),
    ],
)
def test_entries_that_contradict_each_other_are_found(tmp_path, change, found):
    books = make_books(3)
    change(books)
    write_pack(tmp_path / "pack.html", books)
    assert faults(tmp_path / "pack.html") == [found]


def test_amounts_that_are_no_figures_are_counted(tmp_path):
    path = tmp_path / "pack.html"
    html = page_html(make_books(1)).replace("</main>", "<p>In total 1,234.50, INV <b data-text>12.50</b></p></main>")
    path.write_text(html, encoding="utf-8", newline="\n")
    result = aa.verify_pack(path)
    assert (result.verified, result.unchecked) == (True, ("1,234.50",))
    assert "1 amount on the page cannot be checked: 1,234.50." in result.notes


def test_another_fingerprint_is_a_fault(sent_pack):
    path, fingerprint = sent_pack
    (fault,) = aa.verify_pack(path, fingerprint=OTHER).differences
    assert tuple(fault) == ("fingerprint", "", OTHER, fingerprint)


@pytest.mark.parametrize("text", ["", "0123-4567", "z" * 64, OTHER + "0"])
def test_a_text_that_is_not_a_fingerprint_is_refused(sent_pack, text):
    """A part of a fingerprint could be that of another page."""
    with pytest.raises(InputError, match="is not a fingerprint: copy all 64 digits that sha256sum prints"):
        aa.verify_pack(sent_pack[0], fingerprint=text)


def packed(content):
    """Return bytes as the entries of a page have them."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


EMPTY = {
    **dict.fromkeys(("company", "currency", "amounts_in", "time_zone", "created_at"), ""),
    "format": 1,
    "scale": 2,
    "start_date": "",
    "end_date": "",
    "verdict": "cash flow proven",
    "tables": {},
    "ledgers": [""],
    "texts": [""],
    "dates": [""],
    "lines": [],
}


def packed_json(**changed):
    """Return data as a page has them."""
    return packed(json.dumps(EMPTY | changed).encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("*", "they are damaged: "),
        ("AAAA", "they are damaged: "),
        (packed(b"\xff"), "they are damaged: "),
        (packed(b"{}")[:-12], "they are cut, or something follows them"),
        (base64.b64encode(gzip.compress(b"{}", mtime=0) + b"more").decode(), "they are cut, or something follows them"),
        (packed(b"{"), "Expecting property name"),
        (packed(b"[" * 100_000), "nested too deeply|recursion"),
        (packed(b'{"ledgers": [], "ledgers": []}'), "the name 'ledgers' occurs twice"),
        (packed(b'{"ledgers": [1.5]}'), "1.5 is not an integer"),
        (packed(b'{"ledgers": [NaN]}'), "NaN is not an integer"),
        (packed(b'{"format": 1}'), "missing required field `company`"),
        (packed_json(dates=["2026-02-30"]), "'2026-02-30' is not a day"),
        (packed_json(ledgers=[], lines=[[0, 0, 0, 0, 1, 0, 0]]), "line 0 refers to a ledger"),
        (packed_json(lines=[[0, -1, 0, 0, 1, 0, 0]]), "line 0 refers to a date"),
        (packed_json(lines=[[0, 0, 0, 0, 1, 3, 0]]), "Invalid enum value 3"),
        (packed_json(lines=[[0, 0, 0, 0, 1, True, 0]]), "got `bool`|Invalid"),
        (packed_json(lines=[[0, 0, 0, 0, 2**53, 0, 0]]), "an amount"),
        (packed_json(lines=[[0, 0, 0, 0, "12", 0, 0]]), "not an amount"),
        (packed_json(tables={"a": {"figures": {"b": ["product", "", 1]}, "hidden": []}}), "Invalid value 'product'"),
        (packed_json(scale=99), "their scale is 99"),
    ],
)  # fmt: skip
def test_damaged_data_are_refused(sent_pack, data, message):
    path, _ = sent_pack
    rewritten(path, DATA.pattern, f'id="pack-data" type="text/plain">{data}')
    with pytest.raises(InputError, match=f"^the data of the pack cannot be read: .*({message})"):
        aa.verify_pack(path)


@pytest.mark.long
def test_data_that_decompress_to_gigabytes_are_refused(sent_pack):
    path, _ = sent_pack
    packer = zlib.compressobj(9, wbits=31)
    zeros = b"0" * 1_000_000
    bomb = b"".join(packer.compress(zeros) for _ in range(MAX_DATA_BYTES // len(zeros) + 1)) + packer.flush()
    text = f'id="pack-data" type="text/plain">{base64.b64encode(bomb).decode()}'
    with pytest.raises(InputError, match="they are larger than 200,000,000 bytes"):
        aa.verify_pack(rewritten(path, DATA.pattern, text))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a pack: it has no data of its figures"),
        (b"<html></html>", "is not a pack: it has no data of its figures"),
        (b"%PDF-1.7 \xff", "is not a pack: it is not text in UTF-8"),
    ],
)
def test_files_that_are_no_packs_are_refused(tmp_path, content, message):
    path = tmp_path / "file.html"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        aa.verify_pack(path)
    with pytest.raises(InputError, match="cannot be read: No such file or directory; give the HTML file"):
        aa.verify_pack(tmp_path / "none.html")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        aa.verify_pack(tmp_path)


def test_data_that_are_there_twice_are_refused(sent_pack):
    """Two parsers might read different ones."""
    path, _ = sent_pack
    rewritten(path, "</main>", f"{pack_data(data_of(make_books(8)))}</main>")
    with pytest.raises(InputError, match=r"the page has 2 elements of data instead of one"):
        aa.verify_pack(path)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"cash|change": ["terms", "", [["+", "cash|change"]]]}, "'cash|change' of 'sentences' is made of itself"),
        ({f"c|{at}": ["terms", "", [["+", f"c|{at + 1}"]]] for at in range(5000)}, "it is made of too many others"),
        ({"cash|change": ["terms", "", []]}, "it is made of nothing"),
        ({"cash|change": ["lines", "", [[1, 0, 999]]]}, "it refers to a line that does not exist"),
        ({"cash|change": ["sum", "", [[1, 0, "", "2026-05-31", [99]]]]}, "it refers to a ledger that does not exist"),
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_calculated_is_named(sent_pack, figures, message):
    def change(data):
        stated = data["tables"]["sentences"]["figures"]
        stated |= {"cash|change": ["terms", "", [["+", "c|0"]]]} | figures
        data["tables"]["sentences"]["hidden"] += [key for key in figures if key.startswith("c|")]

    (fault,) = [one for one in aa.verify_pack(altered_data(sent_pack[0], change)).differences if one.what == "figure"]
    assert fault.recomputed == f"not possible: {message}"


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("1,234.50", (123450, 2)),
        ("(1,234.50)", (-123450, 2)),
        ("-0.05", (-5, 2)),
        ("(0.05)", (-5, 2)),
        ("+0.05\N{NO-BREAK SPACE}", (5, 2)),
        ("\N{EN DASH}", (0, 2)),
        ("0.00", (0, 2)),
        ("1,000", (1000, 0)),
        ("not known", (None, 2)),
    ],
)
def test_signs_and_dashes_agree_as_statements_write_them(shown, value):
    assert agrees(read_shown(shown), value_text(*value))


@pytest.mark.parametrize(
    "shown",
    [
        *("12.5%", "1234.50", "1,234.5", "12,34.50", "1,234.500", "1.234,50", "\u0661,234.50", "", "\N{EN DASH}"),
        *("(-1,234.50)", "(1,234.50", "1,234.50)", "-1,234.50", "1,234.50 EUR", "EUR 1,234.50"),
    ],
)  # fmt: skip
def test_other_digits_separators_and_currencies_do_not_agree(shown):
    assert not agrees(read_shown(shown), value_text(123450, 2))


def test_sentence_of_falling_cash_shows_a_size_without_sign():
    assert value_text(-123450, 2, form="magnitude") == "1,234.50"
    assert value_text(None, 2) == "not known"


PERIODS = [
    *(f"2026-{month:02}" for month in range(1, 6)),
    *(f"2026-{month:02}-{day:02}/2026-{month:02}-{day + 8:02}" for month in range(1, 6) for day in (1, 7, 12, 17)),
]


@pytest.mark.soak
def test_no_alarm_on_monthly_packs(unusual_client, soak_count, tmp_path):
    path = tmp_path / "pack.html"
    for number, period in enumerate([*PERIODS, *PERIODS][: soak_count(50, fewer=2)]):
        since, currency = (None, "2026-01-01")[number % 2], ("USD", "\u20ac", "")[number % 3]
        books = aa.load_books(unusual_client, period, since=since, progress=False)
        made = aa.monthly_pack(books._replaced(company=UNUSUAL_NAMES["company"], currency=currency))
        made.save(path)
        result = aa.verify_pack(path, fingerprint=made.fingerprint)
        assert (list(result.differences), result.unchecked) == ([], ()), period
        assert result.figures > 100


@pytest.mark.soak
@pytest.mark.parametrize("name", ALTERATIONS)
def test_every_alteration_of_a_monthly_pack_is_found(demo_pack, soak_count, tmp_path, name):
    path = tmp_path / "pack.html"
    for seed in range(soak_count(20, fewer=1)):
        path.write_text(alter(name, seed, demo_pack.html), encoding="utf-8", newline="\n")
        assert not aa.verify_pack(path, fingerprint=demo_pack.fingerprint).verified
        if name != "ledger":  # of two ledgers of one total, in days of which only the total is shown
            assert aa.verify_pack(path).verified == (name not in CALCULATED), (name, seed)


@pytest.mark.parametrize(("letter", "unit"), [("k", "thousands"), ("M", "millions")])
@given(units=st.integers(-(10**24), 10**24), scale=st.integers(0, 10))
def test_rounded_texts_are_those_of_the_rule(letter, unit, units, scale):
    shown = aa.Figure("row|column", "", units, "", scale=scale).text_in(letter)
    expected = value_text(units, scale, amounts_in=unit)
    assert agrees(read_shown(shown), expected)
    other = 10 ** (scale + {"k": 2, "M": 4}[letter])
    assert not agrees(read_shown(shown), value_text(units + other, scale, amounts_in=unit))
    assert value_text(None, scale, amounts_in=unit) == "not known"
