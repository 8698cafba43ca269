"""The page of a pack in Chromium: it loads nothing, runs nothing that is in the books, and unfolds each figure."""

import json
from importlib.resources import files

import pandas as pd
import pytest
from small_packs import PLAIN_NAMES, UNUSUAL_NAMES, make_books, page_html, shown_figures

import accounting_analytics as aa
from accounting_analytics.pack.page_format import agrees, read_shown, value_text

pytestmark = pytest.mark.browser
PAYLOAD = "</script></style><img src=x onerror=\"document.title='owned'\">'\"${1}{{7*7}}\\"
FOREIGN = "performance.getEntriesByType('resource').map(one => one.name).filter(name => !/^(data|blob):/.test(name))"
FIGURE = 'document.querySelector(\'[data-table="{table}"] [data-key="{key}"] > button, \
[data-table="{table}"][data-key="{key}"] > button\')'
UNFOLDED = (
    "[...document.querySelectorAll('.entries > * > div, .entries > div')].map(one => one.innerText.split(/[\\t\\n]+/))"
)


ENTRY_STYLES = """[...new Set([...document.querySelectorAll('table.lines tbody td.text')].map(cell => {
  const style = getComputedStyle(cell);
  return `${style.fontSize} ${style.fontWeight}`;
}))]"""


@pytest.fixture
def opened(browser, tmp_path):
    def opened(pack, **size):
        browser.open(pack.save(tmp_path / "pack.html").as_uri(), **size)
        browser.wait_until("document.querySelectorAll('.accounting-analytics-figures.ready').length > 5")

    return opened


def press(browser, table, key):
    """Press a figure, and return the texts of what is unfolded then."""
    figure = FIGURE.format(table=table, key=key)
    browser.wait_until(figure)
    before = len(browser.evaluate(UNFOLDED))
    browser.click(figure)
    browser.wait_until(f"{UNFOLDED}.length > {before}")
    return browser.evaluate(UNFOLDED)


def test_figures_unfold_without_a_request(browser, opened, demo_pack):
    opened(demo_pack)
    (rent,) = press(browser, "income", "led_rent|2026-05")
    assert rent[:5] == ["Rent, May 2026", "Date", "Description", "Opposing ledgers", "Amount"]
    assert rent[-2:] == ["1 entry", "7,900.00"]
    income = press(browser, "income", "net_income|2026-05 change")[-1]
    assert income[:4] == [
        "Net income, Change from Apr 2026",
        "+",
        "Operating income, Change from Apr 2026",
        "(12,788.25)",
    ]
    assert income[-2:] == ["=", "(12,747.10)"]
    sentence = press(browser, "key_figures", "net_cash_flow|2026-05")[0]
    assert sentence[0] == "Net change in cash, May 2026"
    assert sentence[-1] == "11,573.05"
    browser.evaluate("document.querySelector('#summary td[data-key=\"cash_in|2026-05\"] button').click()")
    browser.wait_until("document.querySelector('#summary tr.entries')")
    assert browser.evaluate(ENTRY_STYLES) == ["13.5px 400"]  # in a statement, below a sentence and a large key figure
    assert browser.evaluate(FOREIGN) == []


@pytest.mark.parametrize("seed", range(12))  # every size of books, every scale, and amounts that a float does not keep
def test_figures_are_exact_to_17_digits(browser, tmp_path, seed):
    sizes = {"transactions": (0, 1, 40, 200)[seed % 4], "scale": (2, 0, 3)[seed % 3], "largest": 10 ** (seed + 6)}
    books = make_books(seed, names=UNUSUAL_NAMES if seed % 2 else PLAIN_NAMES, **sizes)
    script = files("accounting_analytics.pack").joinpath("page_figures.js").read_text(encoding="utf-8")
    page = page_html(books).replace("</body>", f'<script type="module">{script}</script></body>')
    (tmp_path / "pack.html").write_text(page, encoding="utf-8")
    browser.open((tmp_path / "pack.html").as_uri())
    browser.wait_until("window.accountingAnalyticsPack")
    shown = shown_figures(books)
    keys = json.dumps([[one.table, one.key] for one in shown])
    calculated = browser.evaluate(
        f"window.accountingAnalyticsPack().then((all) => {keys}.map(([table, key]) => `${{all.units(table, key)}}`))"
    )
    for one, units in zip(shown, calculated, strict=True):
        form = "magnitude" if one.attributes else ""
        expected = value_text(None if units == "null" else int(units), books.scale, form=form)
        assert agrees(read_shown(one.text), expected), one


@pytest.mark.long
def test_every_button_unfolds_its_own_amount(browser, opened, demo_pack):
    opened(demo_pack)
    wrong = browser.evaluate(
        """(async () => {
          const wrong = [];
          const buttons = [...document.querySelectorAll('td[data-key] > button')].filter((_, one) => one % 7 === 0);
          for (const button of buttons) {
            button.click();
            const row = button.closest('tr');
            for (let wait = 0; wait < 200 && !row.nextElementSibling?.matches('.entries'); wait++) {
              await new Promise((done) => setTimeout(done, 5));
            }
            const sum = row.nextElementSibling.querySelector('tfoot td:last-child').textContent;
            if (sum !== button.textContent) wrong.push([button.parentElement.dataset.key, button.textContent, sum]);
            button.click();
          }
          return [buttons.length, wrong];
        })()"""
    )
    assert wrong[0] > 100
    assert wrong[1] == []


def test_what_is_in_the_books_runs_nothing(browser, opened, load_month):
    books = load_month("2025-02")  # there is little before it to load
    names = {one: f"{PAYLOAD} {number}" for number, one in enumerate(books.ledgers["id"])}
    ledgers = books.ledgers.assign(name=books.ledgers["id"].map(names))
    texts = {name: pd.Series(PAYLOAD, index=books.lines.index) for name in ("journal_entry_description", "description")}
    lines = books.lines.assign(
        **texts, transaction_description=PAYLOAD, ledger_name=books.lines["ledger_id"].map(names)
    )
    lines.attrs = books.lines.attrs
    lines.attrs["notes"] = [PAYLOAD]
    hostile = aa.Books(lines, ledgers, books.period, reports=books.reports, company=PAYLOAD, currency=PAYLOAD)
    pack = aa.monthly_pack(hostile, show_code=True)
    opened(pack)
    assert browser.evaluate("document.title") == pack.title
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    (unfolded,) = press(browser, "income", "led_rent|2025-02")
    assert PAYLOAD in unfolded
    assert browser.evaluate("document.title") != "owned"
    assert browser.evaluate(FOREIGN) == []
    assert browser.evaluate("document.querySelector('h1').innerText") == PAYLOAD
    heading = browser.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--print-heading')")
    assert "onerror" in heading


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.long)])
def test_the_page_is_accessible(browser, opened, demo_pack, scheme):
    opened(demo_pack, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    press(browser, "income", "led_rent|2026-05")
    press(browser, "income", "net_income|2026-05")
    assert browser.accessibility_faults() == []


@pytest.mark.long
def test_the_page_fits_a_phone(browser, opened, demo_pack):
    opened(demo_pack, width=390)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    widths = "[...document.querySelectorAll('.picture svg')].map(one => one.getBoundingClientRect().width)"
    assert sorted({width > 0 for width in browser.evaluate(widths)}) == [False, True]
    texts = (
        "[...document.querySelectorAll('.picture .narrow text')].map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(browser.evaluate(texts)) >= 9
