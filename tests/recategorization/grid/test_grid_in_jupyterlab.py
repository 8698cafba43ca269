"""The grid in a real JupyterLab, from a filter to the books, as the audit of the service has them."""

import shutil

import nbformat
import pytest
from grid_page import GRID
from nbformat import v4
from posted_books import recategorizations_in

import accounting_analytics as aa

pytestmark = pytest.mark.browser
LOAD = """import accounting_analytics as aa
client = aa.connect()
books = aa.load_books(client, ("2025-01-01", "2026-06-30"), reports=())
queue = aa.uncategorized_queue(books)
proposals = aa.propose(queue, aa.load_rules("given-rules.toml"), books)"""
REVIEW = """review = aa.review(books, queue, proposals=proposals, rules_file="rules.toml")
review"""
APPLY = """plan = review.plan(instance_id=client.instance_id)
outcomes = aa.apply_plan(client, plan, journal="review.journal", confirm=True, modified_by="reviewer")
print(plan.summary(outcomes))"""
DAYS = ("2025-01-01", "2026-06-30")
PROPOSED = {"MOBILE DEPOSIT": "Wholesale Sales", "VENMO CASHOUT": "Cafe Sales", "K ABADI": "Wholesale Sales"}
RULES = """[[rule]]
name = "deposits"
contains = "mobile deposit"
category = "Wholesale Sales"

[[rule]]
name = "refunds"
contains = "venmo cashout"
category = "Cafe Sales"

[[rule]]
name = "abadi"
contains = "k abadi"
category = "Wholesale Sales"
"""
CELLS = "[...document.querySelectorAll('.jp-CodeCell')]"
FOREIGN = "performance.getEntriesByType('resource').map(one => one.name).filter(name => !/^(data|blob):/.test(name) \
&& new URL(name).hostname !== '127.0.0.1')"
IDLE = "document.querySelector('#jp-main-statusbar')?.innerText.includes('(ipykernel) | Idle')"


@pytest.fixture
def connected_company(monkeypatch):
    """Return a demo company of its own, which a notebook connects to."""
    with aa.demo() as company:
        for name, value in company.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("ACCOUNTING_ANALYTICS_BATCH", raising=False)
        yield company


def audited(company):
    """Return the user and the new ledger of each transaction that the service says was recategorized."""
    changes = recategorizations_in(company.database, company.instance_id)
    assert len(changes) == len({change.transaction_id for change in changes})
    return {change.transaction_id: (change.modified_by, set(change.after_ids.split("|"))) for change in changes}


def expected(company, rejected):
    """Return the new ledger of each transaction: of the 40 largest groups of the card, and of what rules propose."""
    books = aa.load_books(company.client, DAYS, reports=())
    queue = aa.uncategorized_queue(books)
    groups = aa.group_queue(queue)
    of_card = groups.loc[groups["ledger_name"] == "Business Credit Card", "group_id"].head(40)
    proposed = groups.loc[groups["counterparty"].isin(PROPOSED.keys() - {rejected}), ["group_id", "counterparty"]]
    new = dict.fromkeys(of_card, "Office Supplies")
    new |= {group_id: PROPOSED[counterparty] for group_id, counterparty in proposed.itertuples(index=False)}
    names = books.names
    rows = zip(queue["transaction_id"], queue["group_id"], strict=True)
    return {one: ("reviewer", {names.find(new[group_id])}) for one, group_id in rows if group_id in new}


class Lab:
    """A notebook of the review and the plan, in JupyterLab."""

    def __init__(self, browser, lab, folder):
        self.browser, self.path = browser, folder / "review.ipynb"
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        cells = [v4.new_code_cell(one) for one in (LOAD, REVIEW, APPLY)]
        nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), self.path)
        (folder / "given-rules.toml").write_text(RULES, encoding="utf-8")
        self.address = lab(self.path)

    def open(self, name="review.ipynb"):
        """Open the notebook, also again, or another one of its folder."""
        self.browser.open(self.address.replace("review.ipynb", name), height=1000)
        self.browser.wait_until(f"{CELLS}.length === 3 && !document.querySelector('#jupyterlab-splash') && {IDLE}")

    def run(self, cell):
        self.browser.wait_until(
            f"({CELLS}[{cell}].querySelector('.cm-content')?.focus(), {CELLS}[{cell}].querySelector('.cm-focused'))"
        )
        self.browser.press("Shift+Enter")

    def output(self, cell):
        """Return the text that is shown below a cell."""
        return self.browser.evaluate(f"{CELLS}[{cell}].querySelector('.jp-Cell-outputArea').innerText")

    def save(self):
        """Save the notebook once the kernel has what is shown, and the page the table of what is decided."""
        self.browser.evaluate("new Promise(resolve => setTimeout(resolve, 1500))")
        self.browser.press("Control+s")
        self.browser.wait_until("!document.querySelector('.jp-mod-dirty')")

    def shows(self, text):
        """Wait until the grid shows a text."""
        self.browser.wait_until(f"{GRID}?.innerText.includes({text!r})")

    def element(self, selector, text=""):
        return f"[...{GRID}.querySelectorAll({selector!r})].find(one => one.innerText.includes({text!r}))"

    def choose(self, label, value):
        select = f"{GRID}.querySelector('select[aria-label={label}]')"
        self.browser.evaluate(f"({select}.value = {value!r}, {select}.dispatchEvent(new Event('change')))")


@pytest.mark.parametrize("copies", [[], pytest.param(["trusted", "untrusted"], marks=pytest.mark.long)])
def test_a_review_from_the_filter_to_the_books(browser, lab, tmp_path, connected_company, copies):
    notebook = Lab(browser, lab, tmp_path)
    notebook.open()
    notebook.run(0)
    notebook.run(1)
    notebook.shows("Cleared: 0 of 358 transactions")
    # filter, tick 40 groups with mouse and keys, and type a category once
    notebook.choose("Account", "Business Credit Card")
    browser.click(notebook.element(".row.group .tick"))
    for _ in range(39):
        browser.press("Shift+ArrowDown")
    notebook.shows("Ticked: 40 groups")
    browser.type("office sup")
    notebook.shows("Office Supplies")
    browser.press("Enter")
    notebook.shows("set to Office Supplies.")
    # of what the rules propose, one group is rejected and all else is accepted
    notebook.choose("Account", "")
    notebook.choose("Show", "proposed")
    rejected = browser.evaluate(f"{GRID}.querySelector('.row.group .counterparty .first').innerText")
    browser.click(notebook.element(".row.group [data-action=skip]"))
    notebook.shows("skipped: no plan changes them.")
    browser.click(notebook.element(".head .tick"))
    browser.click(notebook.element("button", "Accept"))
    notebook.shows("accepted.")
    # a rule is made of the counterparty with the most money
    notebook.choose("Show", "decided")
    browser.click(notebook.element(".row.group .counterparty"))
    browser.click(notebook.element("button", "Make a rule"))
    notebook.shows("Added to rules.toml")
    assert (tmp_path / "rules.toml").read_text(encoding="utf-8").count("[[rule]]") == 1
    cleared = browser.evaluate(f"{GRID}.querySelector('.cleared').innerText")
    # nothing is lost when the page is loaded again
    notebook.save()
    check_saved_notebook(notebook, cleared, copies)
    notebook.open()
    notebook.shows(cleared)
    assert browser.evaluate(f"{GRID}.querySelector('select[aria-label=Show]').value") == "decided"
    assert browser.accessibility_faults(".accounting-analytics-review") == []
    assert browser.evaluate(FOREIGN) == []
    # the plan is applied in the next cell
    books = expected(connected_company, rejected)
    notebook.run(2)
    browser.wait_until(f"{CELLS}[2].innerText.includes(' done')")
    assert f"{len(books)} items: {len(books)} done" in notebook.output(2)
    assert cleared.startswith(f"Cleared: {len(books)} of 358 transactions")
    assert audited(connected_company) == books
    notebook.save()  # a page that is not saved asks before it is left


def check_saved_notebook(notebook, cleared, copies):
    """Check copies of the saved notebook, with another kernel: the table has all decisions, and there is no error."""
    saved = nbformat.read(notebook.path, as_version=4)
    decided = f"{cleared.split(',')[0].removeprefix('Cleared: ').replace(' transactions', ' transactions decided')}"
    shutil.copy(notebook.path, notebook.path.with_name("trusted.ipynb"))
    saved.cells[2].source = "1 + 1"
    nbformat.write(saved, notebook.path.with_name("untrusted.ipynb"))
    for name in copies:
        notebook.open(f"{name}.ipynb")
        shown = f"{CELLS}[1].querySelector('.jp-Cell-outputArea')"
        notebook.browser.wait_until(f"{shown}.innerText.includes({decided!r})")
        notebook.browser.wait_until(f"!{shown}.textContent.includes('Loading widget')")
        assert "widget" not in notebook.output(1)
        assert notebook.browser.evaluate(f"{shown}.querySelectorAll('table').length") == 1
