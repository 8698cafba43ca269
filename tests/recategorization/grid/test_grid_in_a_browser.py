"""The grid in Chromium, answered by the record: mouse and keys, search, type-ahead, colours, and hostile texts."""

import json

import pytest
from grid_page import GRID, GridPage
from long_cases import also_long
from plain_books import books_of

import accounting_analytics as aa

pytestmark = pytest.mark.browser
SHIFT = 8
HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
FOREIGN = (
    "performance.getEntriesByType('resource').map(one => one.name).filter(name => !/^(data|blob|file):/.test(name))"
)
FOCUSED = "document.activeElement.className || document.activeElement.role"


@pytest.fixture
def page(browser, tmp_path, review):
    """Return the grid of the small queue, opened."""
    page = GridPage(browser, tmp_path, review)
    page.open()
    return page


def decided(review):
    frame = review.decisions
    return dict(zip(frame["transaction_id"], frame["updated_category_ledger_id"], strict=True))


def test_groups_unfold_into_transactions(page):
    assert [row[2] for row in page.rows()] == [
        *("ACME CORP INVOICE", "UBER TRIP", "CORNER DELI", "PAYMENT THANK YOU", "TRANSFER TO CARD", "COSTCO")
    ]
    assert page.rows()[1][1:] == [
        *(
            "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}",
            "UBER TRIP",
            "Card",
            "3 transactions",
            "2025-03 \N{EN DASH} 2025-03",
        ),
        *("-60.00", "Travel?", "a rule", "\N{CHECK MARK}", "\N{MULTIPLICATION X}"),
    ]
    page.click(".row", "UBER TRIP", part=".fold")
    assert [row[1:4] for row in page.rows()[2:5]] == [
        ["UBER TRIP 2222", "2025-03-04", "-30.01"],
        ["UBER TRIP 1111", "2025-03-03", "-20.00"],
        ["UBER TRIP 3333", "2025-03-05", "-9.99"],
    ]
    page.click(".row", "UBER TRIP", part=".fold")
    assert len(page.rows()) == 6


def test_a_category_is_typed_once_for_what_is_ticked(page, review):
    page.click(".row", "UBER TRIP", part=".tick")
    page.click(".row", "TRANSFER TO CARD", part=".tick", modifiers=SHIFT)
    page.click(".row", "PAYMENT", part=".tick")
    assert page.texts(".ticks") == ["Ticked: 3 groups, 6 transactions, -585.00"]
    page.type("me")
    assert page.texts(".choices li") == ["Meals\nExpenses:Meals"]
    assert page.press("Enter").startswith("6 transactions, -585.00, set to Meals.")
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3", "deli-1", "deli-2", "sent"], "meals")
    assert page.rows()[2][7:11] == ["Outflow to sort", "\N{RIGHTWARDS ARROW}", "Meals", "chosen by hand"]
    assert page.texts(".ticks") == ["Nothing is ticked: keys and buttons act on the marked row"]
    assert page.texts(".cleared") == ["Cleared: 6 of 9 transactions, 585.00 of 2,015.00 (29 %), 1 decision"]
    assert page.texts(".effect tbody tr") == ["Expenses:Meals\t6\t-585.00", "Outflow to sort\t6\t585.00"]


def test_keys_do_everything(page, review):
    page.browser.evaluate(f"{GRID}.querySelector('[role=grid]').focus()")
    page.press("ArrowDown")
    page.press("ArrowRight")
    page.press("ArrowDown")
    page.press("Space")  # uber-2
    page.type("exp")
    assert page.texts(".choices li")[0] == "Expenses"
    page.press("ArrowDown")  # below it by its path
    page.press("Enter")
    assert decided(review) == {"uber-2": "meals"}
    page.press("ArrowDown")
    page.press("Control+d")
    assert decided(review) == {"uber-2": "meals", "uber-1": "meals"}
    page.press("Control+z")
    page.press("Delete")  # of the row below, to which the decision before went on
    assert page.rows()[4][4] == "Skipped"
    page.press("Control+a")
    assert page.press("Control+Enter").startswith("3 transactions, 850.00, accepted.")
    assert decided(review) == {"uber-2": "meals", "uber-1": "travel", "client": "sales", "split": "meals"}
    for _ in range(3):
        page.press("Control+z")
    assert decided(review) == {}
    page.press("Control+y")
    assert decided(review) == {"uber-2": "meals"}
    page.press("Home")
    page.press("Shift+ArrowDown")
    assert page.texts(".ticks") == ["Ticked: 2 groups, 4 transactions, 840.00"]
    page.press("Escape")
    assert page.texts(".ticks")[0].startswith("Nothing is ticked")
    assert page.browser.evaluate(FOCUSED) == "grid"


def test_search_filter_and_sort(page, review):
    page.click(".search")
    page.type("trip 30.01")
    assert [row[4] for row in page.rows()] == ["1 of 3"]
    page.click(".head .tick")
    page.browser.evaluate("document.activeElement.blur()")
    set_value(page, ".search", "deli")
    page.click(".head .tick")
    assert page.texts(".ticks") == ["Ticked: 2 groups, 3 transactions (1 not shown), -55.01"]
    page.click("button", "Skip")
    set_value(page, ".search", "")
    set_value(page, "select[aria-label=Show]", "skipped")
    assert [row[2] for row in page.rows()] == ["UBER TRIP", "CORNER DELI"]
    set_value(page, "select[aria-label=Show]", "all")
    set_value(page, "select[aria-label=Account]", "Bank")
    assert [row[2] for row in page.rows()] == ["ACME CORP INVOICE", "TRANSFER TO CARD"]
    set_value(page, "select[aria-label=Account]", "")
    page.click(".head button", "Counterparty")
    assert [row[2] for row in page.rows()][:2] == ["ACME CORP INVOICE", "CORNER DELI"]
    page.click(".head button", "Transactions")
    assert [row[2] for row in page.rows()][:2] == ["UBER TRIP", "CORNER DELI"]
    set_value(page, ".search", "nothing like this")
    assert page.rows() == [["Nothing is found."]]
    page.press("Control+a")
    assert review.decisions.empty


def set_value(page, selector, value):
    """Enter a value in a box or a list of choices."""
    page.browser.evaluate(
        f"(one => {{ one.value = {json.dumps(value)}; one.dispatchEvent(new Event('input')); "
        f"one.dispatchEvent(new Event('change')); }})({page.element(selector)})"
    )


def test_buttons_act_on_their_row(page, review, tmp_path):
    page.click(".row", "CORNER DELI", part=".tick")
    page.click(".row", "UBER TRIP", part="[data-action=accept]")
    page.click(".row", "ACME", part="[data-action=skip]")
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3"], "travel")
    undo, redo = (page.element("button", label) for label in ("Undo", "Redo"))
    assert page.browser.evaluate(f"[{undo}.title, {redo}.disabled]") == ["1 skipped transaction", True]
    assert page.click("button", "Undo") == "Undone: 1 skipped transaction."
    assert page.browser.evaluate(f"{redo}.title") == "1 skipped transaction"
    assert page.click("button", "Redo") == "Done again: 1 skipped transaction."
    page.click(".row", "ACME", part="[data-action=clear]")
    assert page.rows()[0][7] == "Sales?"
    assert "a rule needs a category" in page.click("button", "Make a rule")
    page.click(".row", "CORNER DELI", part=".tick")
    page.click(".row", "UBER TRIP", part=".counterparty .first")
    assert page.click("button", "Make a rule").startswith("Added to ")
    assert "UBER TRIP" in (tmp_path / "rules.toml").read_text(encoding="utf-8")


def test_a_page_that_is_loaded_again_loses_nothing(page, review):
    page.click(".row", "UBER TRIP", part="[data-action=accept]")
    page.click(".row", "CORNER DELI", part=".fold")
    page.click(".row", "CORNER DELI", part=".tick")
    page.browser.wait_until("window.saved?.includes('\"unfolded\":[2]')")
    page.widget._view = page.browser.evaluate("window.saved")
    before = page.rows()
    page.open()
    assert page.rows() == before
    assert page.texts(".ticks") == ["Ticked: 1 group, 2 transactions, -25.00"]
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3"], "travel")


def test_two_views_show_one_record(page, review):
    page.browser.evaluate("show(document.body.appendChild(document.createElement('div')))")
    page.click(".row", "UBER TRIP", part="[data-action=accept]")
    review.assign("deli-1", "meals")
    other = "[...document.querySelectorAll('.accounting-analytics-review')][1]"
    rows = page.browser.evaluate(f"[...{other}.querySelectorAll('.body .row')].map(one => one.innerText.split('\\n'))")
    assert rows == page.rows()
    assert rows[2][7:] == [
        *("Outflow to sort", "\N{RIGHTWARDS ARROW}", "Meals", "1 to decide \N{MIDDLE DOT} chosen by hand"),
        *("\N{MULTIPLICATION X}", "\N{ANTICLOCKWISE OPEN CIRCLE ARROW}"),
    ]


def test_a_group_shows_which_proposal_is_missing(browser, tmp_path, propose, queue, ledgers):
    proposals = propose(queue, {"uber-1": "travel", "uber-2": "meals"})
    page = GridPage(browser, tmp_path, aa.review(books_of(ledgers), queue, proposals=proposals))
    page.open()
    assert page.rows()[1][7:9] == ["1 Meals, 1 Travel?", "none for 2025-03-05 -9.99 \N{MIDDLE DOT} a rule"]


def test_a_category_that_does_not_exist_is_named(page, review):
    page.click(".row", "CORNER DELI", part=".counterparty .first")
    page.type("Travl")
    assert page.texts(".choices li") == []
    assert page.press("Enter") == "no discovered ledger matches 'Travl'; did you mean 'Travel'?"
    assert page.browser.evaluate("document.activeElement.value") == "Travl"
    page.press("Backspace")
    assert page.press("Enter").startswith("2 transactions, -25.00, set to Travel.")
    assert decided(review) == {"deli-1": "travel", "deli-2": "travel"}


@pytest.mark.parametrize("width", [800, 390])
def test_the_text_of_a_row_has_a_line_of_its_own(page, review, width):
    review.assign("deli-1", "meals")
    page.open(width=width)
    page.click(".row", "UBER TRIP", part=".fold")
    box = "(one => { const { top, bottom, width } = one.getBoundingClientRect(); return [top, bottom, width]; })"
    row = f"{GRID}.querySelector('.row.transaction')"
    text, count, whole, grid, states = (
        page.browser.evaluate(f"{box}({one})")
        for one in (
            f"{row}.querySelector('.counterparty .first')",
            f"{row}.querySelector('.count')",
            row,
            f"{GRID}.querySelector('.grid')",
            f"{GRID}.querySelector('.states')",
        )
    )
    assert text[1] <= count[0]
    assert text[2] > whole[2] / 2
    assert states[1] <= grid[0]
    assert page.browser.evaluate("document.documentElement.scrollWidth") <= width


def test_grid_waits_for_a_kernel_that_does_not_answer(page):
    page.browser.evaluate(f"{page.element('button', 'Skip')}.click()")
    page.browser.wait_until(f"{GRID}.querySelector('.status').innerText.startsWith('Waiting for the kernel')")
    assert page.answer() == "1 transaction skipped: no plan changes them."


@pytest.fixture
def hostile(browser, tmp_path, make_queue, propose, ledgers):
    """Return the grid of a queue whose texts are markup and scripts."""
    queue = make_queue([(f"t-{number}", "card", 1, "-1.00", f"{HOSTILE} {number}") for number in range(3)])
    ledgers = ledgers.assign(name=ledgers["name"].where(ledgers["id"] != "meals", f"Meals {HOSTILE}"))
    proposals = propose(queue, {"t-0": "meals"}, HOSTILE).assign(updated_category_ledger_name=None)
    page = GridPage(browser, tmp_path, aa.review(books_of(ledgers), queue, proposals=proposals))
    page.open()
    return page


def test_texts_of_the_books_do_not_run(hostile):
    for _ in range(3):
        hostile.click(".row.group", part=".tick")
        hostile.click(".row.group", part=".fold")
    hostile.type("meals")
    hostile.press("Enter")
    assert HOSTILE in "".join(hostile.texts(".row .counterparty .first"))
    assert hostile.browser.evaluate("document.title") == "Review"
    assert hostile.browser.evaluate(f"{GRID}.querySelectorAll('img, script').length") == 0
    assert hostile.browser.evaluate(FOREIGN) == []


@pytest.mark.parametrize(
    "look", [{"scheme": "dark"}, {"width": 390}, *also_long({}, {"width": 800}, {"width": 390, "scheme": "dark"})]
)
def test_the_grid_is_accessible(page, review, look):
    review.accept("uber-1")
    review.skip("client")
    page.open(**look)
    page.click(".row", "UBER TRIP", part=".fold")
    page.click(".row", "CORNER DELI", part=".tick")
    page.type("x")
    assert page.browser.accessibility_faults(".accounting-analytics-review") == []
    page.press("Escape")
    page.type("e")
    assert page.texts(".choices li")
    assert page.browser.accessibility_faults(".accounting-analytics-review") == []
    assert page.browser.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1280)


def test_rows_and_focus_have_their_accessible_roles(page):
    page.browser.evaluate(f"{GRID}.querySelector('[role=grid]').focus()")
    page.press("ArrowDown")
    page.press("Space")
    grid = "document.querySelector('[role=grid]')"
    assert page.browser.evaluate(
        f"['aria-rowcount', 'aria-multiselectable'].map(name => {grid}.getAttribute(name))"
    ) == ["7", "true"]
    active = f"document.getElementById({grid}.getAttribute('aria-activedescendant'))"
    assert page.browser.evaluate(f"['aria-rowindex', 'aria-selected'].map(name => {active}.getAttribute(name))") == [
        "3",
        "true",
    ]
    assert page.browser.evaluate(f"getComputedStyle({active}).outlineStyle") == "solid"


@pytest.fixture(scope="module")
def many(browser, tmp_path_factory, make_queue, ledgers):
    """Return the grid of 5,000 transactions of 500 merchants; only the last test decides some."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [f"{one}{two} STORE" for one in letters for two in letters][:500]
    rows = [
        (f"t-{number}", "card", 1 + number % 28, f"-{number % 977 + 1}.00", names[number % 500])
        for number in range(5_000)
    ]
    return GridPage(browser, tmp_path_factory.mktemp("many"), aa.review(books_of(ledgers), make_queue(rows)))


def test_press_on_a_row_that_moves_is_not_lost(many):
    many.open()
    grid = f"{GRID}.querySelector('[role=grid]')"
    kept = "[...document.querySelectorAll('.row')].filter(one => one.isMarked).length"
    many.browser.evaluate(f"{GRID}.querySelectorAll('.body .row').forEach(one => {{ one.isMarked = true }})")
    many.browser.evaluate(f"{grid}.scrollTop = 90")
    many.browser.wait_until(f"{GRID}.querySelector('[aria-rowindex=\"21\"]')")
    assert many.browser.evaluate(kept) > 10
    assert many.browser.evaluate(
        f"[...{GRID}.querySelectorAll('.body .row')].every((one, place, rows) => !place || "
        "Number(one.dataset.index) === Number(rows[place - 1].dataset.index) + 1)"
    )


def test_only_rows_in_sight_are_drawn(many):
    many.open()
    assert many.browser.evaluate(f"{GRID}.querySelectorAll('.row').length") < 40
    many.click(".head .tick")
    many.type("meals")
    assert many.press("Enter").startswith("5,000 transactions, ")
    many.browser.evaluate(f"{GRID}.querySelector('[role=grid]').scrollTop = 1e9")
    many.browser.wait_until(f"{GRID}.querySelector('[aria-rowindex=\"501\"]')")
    assert many.browser.evaluate(f"{GRID}.querySelectorAll('.row').length") < 40
    assert many.texts(".cleared")[0].startswith("Cleared: 5,000 of 5,000 transactions")
