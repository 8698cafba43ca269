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
def grid(browser, tmp_path, review):
    """Return the grid of the small queue, opened."""
    page = GridPage(browser, tmp_path, review)
    page.open()
    return page


def decided(review):
    frame = review.decisions
    return dict(zip(frame["transaction_id"], frame["updated_category_ledger_id"], strict=True))


def test_groups_unfold_into_transactions(grid):
    assert [row[2] for row in grid.rows()] == [
        *("ACME CORP INVOICE", "UBER TRIP", "CORNER DELI", "PAYMENT THANK YOU", "TRANSFER TO CARD", "COSTCO")
    ]
    assert grid.rows()[1][1:] == [
        *(
            "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}",
            "UBER TRIP",
            "Card",
            "3 transactions",
            "2025-03 \N{EN DASH} 2025-03",
        ),
        *("-60.00", "Travel?", "a rule", "\N{CHECK MARK}", "\N{MULTIPLICATION X}"),
    ]
    grid.click(".row", "UBER TRIP", part=".fold")
    assert [row[1:4] for row in grid.rows()[2:5]] == [
        ["UBER TRIP 2222", "2025-03-04", "-30.01"],
        ["UBER TRIP 1111", "2025-03-03", "-20.00"],
        ["UBER TRIP 3333", "2025-03-05", "-9.99"],
    ]
    grid.click(".row", "UBER TRIP", part=".fold")
    assert len(grid.rows()) == 6


def test_a_category_is_typed_once_for_what_is_ticked(grid, review):
    grid.click(".row", "UBER TRIP", part=".tick")
    grid.click(".row", "TRANSFER TO CARD", part=".tick", modifiers=SHIFT)
    grid.click(".row", "PAYMENT", part=".tick")
    assert grid.texts(".ticks") == ["Ticked: 3 groups, 6 transactions, -585.00"]
    grid.type("me")
    assert grid.texts(".choices li") == ["Meals\nExpenses:Meals"]
    assert grid.press("Enter").startswith("6 transactions, -585.00, set to Meals.")
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3", "deli-1", "deli-2", "sent"], "meals")
    assert grid.rows()[2][7:11] == ["Outflow to sort", "\N{RIGHTWARDS ARROW}", "Meals", "chosen by hand"]
    assert grid.texts(".ticks") == ["Nothing is ticked: keys and buttons act on the marked row"]
    assert grid.texts(".cleared") == ["Cleared: 6 of 9 transactions, 585.00 of 2,015.00 (29 %), 1 decision"]
    assert grid.texts(".effect tbody tr") == ["Expenses:Meals\t6\t-585.00", "Outflow to sort\t6\t585.00"]


def test_keys_do_everything(grid, review):
    grid.browser.evaluate(f"{GRID}.querySelector('[role=grid]').focus()")
    grid.press("ArrowDown")
    grid.press("ArrowRight")
    grid.press("ArrowDown")
    grid.press("Space")  # uber-2
    grid.type("exp")
    assert grid.texts(".choices li")[0] == "Expenses"
    grid.press("ArrowDown")  # below it by its path
    grid.press("Enter")
    assert decided(review) == {"uber-2": "meals"}
    grid.press("ArrowDown")
    grid.press("Control+d")
    assert decided(review) == {"uber-2": "meals", "uber-1": "meals"}
    grid.press("Control+z")
    grid.press("Delete")  # of the row below, to which the decision before went on
    assert grid.rows()[4][4] == "Skipped"
    grid.press("Control+a")
    assert grid.press("Control+Enter").startswith("3 transactions, 850.00, accepted.")
    assert decided(review) == {"uber-2": "meals", "uber-1": "travel", "client": "sales", "split": "meals"}
    for _ in range(3):
        grid.press("Control+z")
    assert decided(review) == {}
    grid.press("Control+y")
    assert decided(review) == {"uber-2": "meals"}
    grid.press("Home")
    grid.press("Shift+ArrowDown")
    assert grid.texts(".ticks") == ["Ticked: 2 groups, 4 transactions, 840.00"]
    grid.press("Escape")
    assert grid.texts(".ticks")[0].startswith("Nothing is ticked")
    assert grid.browser.evaluate(FOCUSED) == "grid"


def test_search_filter_and_sort(grid, review):
    grid.click(".search")
    grid.type("trip 30.01")
    assert [row[4] for row in grid.rows()] == ["1 of 3"]
    grid.click(".head .tick")
    grid.browser.evaluate("document.activeElement.blur()")
    set_value(grid, ".search", "deli")
    grid.click(".head .tick")
    assert grid.texts(".ticks") == ["Ticked: 2 groups, 3 transactions (1 not shown), -55.01"]
    grid.click("button", "Skip")
    set_value(grid, ".search", "")
    set_value(grid, "select[aria-label=Show]", "skipped")
    assert [row[2] for row in grid.rows()] == ["UBER TRIP", "CORNER DELI"]
    set_value(grid, "select[aria-label=Show]", "all")
    set_value(grid, "select[aria-label=Account]", "Bank")
    assert [row[2] for row in grid.rows()] == ["ACME CORP INVOICE", "TRANSFER TO CARD"]
    set_value(grid, "select[aria-label=Account]", "")
    grid.click(".head button", "Counterparty")
    assert [row[2] for row in grid.rows()][:2] == ["ACME CORP INVOICE", "CORNER DELI"]
    grid.click(".head button", "Transactions")
    assert [row[2] for row in grid.rows()][:2] == ["UBER TRIP", "CORNER DELI"]
    set_value(grid, ".search", "nothing like this")
    assert grid.rows() == [["Nothing is found."]]
    grid.press("Control+a")
    assert review.decisions.empty


def set_value(page, selector, value):
    """Enter a value in a box or a list of choices."""
    page.browser.evaluate(
        f"(one => {{ one.value = {json.dumps(value)}; one.dispatchEvent(new Event('input')); "
        f"one.dispatchEvent(new Event('change')); }})({page.element(selector)})"
    )


def test_buttons_act_on_their_row(grid, review, tmp_path):
    grid.click(".row", "CORNER DELI", part=".tick")
    grid.click(".row", "UBER TRIP", part="[data-action=accept]")
    grid.click(".row", "ACME", part="[data-action=skip]")
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3"], "travel")
    undo, redo = (grid.element("button", label) for label in ("Undo", "Redo"))
    assert grid.browser.evaluate(f"[{undo}.title, {redo}.disabled]") == ["1 skipped transaction", True]
    assert grid.click("button", "Undo") == "Undone: 1 skipped transaction."
    assert grid.browser.evaluate(f"{redo}.title") == "1 skipped transaction"
    assert grid.click("button", "Redo") == "Done again: 1 skipped transaction."
    grid.click(".row", "ACME", part="[data-action=clear]")
    assert grid.rows()[0][7] == "Sales?"
    assert "a rule needs a category" in grid.click("button", "Make a rule")
    grid.click(".row", "CORNER DELI", part=".tick")
    grid.click(".row", "UBER TRIP", part=".counterparty .first")
    assert grid.click("button", "Make a rule").startswith("Added to ")
    assert "UBER TRIP" in (tmp_path / "rules.toml").read_text(encoding="utf-8")


def test_a_page_that_is_loaded_again_loses_nothing(grid, review):
    grid.click(".row", "UBER TRIP", part="[data-action=accept]")
    grid.click(".row", "CORNER DELI", part=".fold")
    grid.click(".row", "CORNER DELI", part=".tick")
    grid.browser.wait_until("window.saved?.includes('\"unfolded\":[2]')")
    grid.widget._view = grid.browser.evaluate("window.saved")
    before = grid.rows()
    grid.open()
    assert grid.rows() == before
    assert grid.texts(".ticks") == ["Ticked: 1 group, 2 transactions, -25.00"]
    assert decided(review) == dict.fromkeys(["uber-1", "uber-2", "uber-3"], "travel")


def test_two_views_show_one_record(grid, review):
    grid.browser.evaluate("show(document.body.appendChild(document.createElement('div')))")
    grid.click(".row", "UBER TRIP", part="[data-action=accept]")
    review.assign("deli-1", "meals")
    other = "[...document.querySelectorAll('.accounting-analytics-review')][1]"
    rows = grid.browser.evaluate(f"[...{other}.querySelectorAll('.body .row')].map(one => one.innerText.split('\\n'))")
    assert rows == grid.rows()
    assert rows[2][7:] == [
        *("Outflow to sort", "\N{RIGHTWARDS ARROW}", "Meals", "1 to decide \N{MIDDLE DOT} chosen by hand"),
        *("\N{MULTIPLICATION X}", "\N{ANTICLOCKWISE OPEN CIRCLE ARROW}"),
    ]


def test_a_group_shows_which_proposal_is_missing(browser, tmp_path, propose, queue, ledgers):
    proposals = propose(queue, {"uber-1": "travel", "uber-2": "meals"})
    page = GridPage(browser, tmp_path, aa.review(books_of(ledgers), queue, proposals=proposals))
    page.open()
    assert page.rows()[1][7:9] == ["1 Meals, 1 Travel?", "none for 2025-03-05 -9.99 \N{MIDDLE DOT} a rule"]


def test_a_category_that_does_not_exist_is_named(grid, review):
    grid.click(".row", "CORNER DELI", part=".counterparty .first")
    grid.type("Travl")
    assert grid.texts(".choices li") == []
    assert grid.press("Enter") == "no discovered ledger matches 'Travl'; did you mean 'Travel'?"
    assert grid.browser.evaluate("document.activeElement.value") == "Travl"
    grid.press("Backspace")
    assert grid.press("Enter").startswith("2 transactions, -25.00, set to Travel.")
    assert decided(review) == {"deli-1": "travel", "deli-2": "travel"}


@pytest.mark.parametrize("width", [800, 390])
def test_the_text_of_a_row_has_a_line_of_its_own(grid, review, width):
    review.assign("deli-1", "meals")
    grid.open(width=width)
    grid.click(".row", "UBER TRIP", part=".fold")
    box = "(one => { const { top, bottom, width } = one.getBoundingClientRect(); return [top, bottom, width]; })"
    row = f"{GRID}.querySelector('.row.transaction')"
    text, count, whole, table, states = (
        grid.browser.evaluate(f"{box}({one})")
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
    assert states[1] <= table[0]
    assert grid.browser.evaluate("document.documentElement.scrollWidth") <= width


def test_grid_waits_for_a_kernel_that_does_not_answer(grid):
    grid.browser.evaluate(f"{grid.element('button', 'Skip')}.click()")
    grid.browser.wait_until(f"{GRID}.querySelector('.status').innerText.startsWith('Waiting for the kernel')")
    assert grid.answer() == "1 transaction skipped: no plan changes them."


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
def test_the_grid_is_accessible(grid, review, look):
    review.accept("uber-1")
    review.skip("client")
    grid.open(**look)
    grid.click(".row", "UBER TRIP", part=".fold")
    grid.click(".row", "CORNER DELI", part=".tick")
    grid.type("x")
    assert grid.browser.accessibility_faults(".accounting-analytics-review") == []
    grid.press("Escape")
    grid.type("e")
    assert grid.texts(".choices li")
    assert grid.browser.accessibility_faults(".accounting-analytics-review") == []
    assert grid.browser.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1280)


def test_rows_and_focus_have_their_accessible_roles(grid):
    grid.browser.evaluate(f"{GRID}.querySelector('[role=grid]').focus()")
    grid.press("ArrowDown")
    grid.press("Space")
    element = "document.querySelector('[role=grid]')"
    assert grid.browser.evaluate(
        f"['aria-rowcount', 'aria-multiselectable'].map(name => {element}.getAttribute(name))"
    ) == ["7", "true"]
    active = f"document.getElementById({element}.getAttribute('aria-activedescendant'))"
    assert grid.browser.evaluate(f"['aria-rowindex', 'aria-selected'].map(name => {active}.getAttribute(name))") == [
        "3",
        "true",
    ]
    assert grid.browser.evaluate(f"getComputedStyle({active}).outlineStyle") == "solid"


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
