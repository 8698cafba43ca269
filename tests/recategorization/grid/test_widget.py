"""The widget of a review: what a browser is sent, what it may ask for, and what is shown without a kernel."""

import asyncio
import re
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.recategorization.review import LIVE_GRID, TABLE_OF_GRID, ReviewWidget

HOSTILE = "<img src=x onerror=alert(1)> </script> \u202egnp.exe \x1b[31m"
WIDGET = "application/vnd.jupyter.widget-view+json"


class Page:
    """What a browser that shows the widget knows, from the state and the messages it is sent."""

    def __init__(self, review):
        self.widget, self.answers = ReviewWidget(review), []
        self.widget.send = self.answers.append

    @property
    def columns(self):
        """What never changes."""
        return self.widget.get_state()["_columns"]

    @property
    def state(self):
        """What is cleared, the effect, and what can be undone."""
        return self.widget.get_state()["_state"]

    def ask(self, action, **content):
        """Ask the kernel for an action; return its answer."""
        self.widget._handle_custom_msg({"action": action, "request": len(self.answers), **content}, [])
        answer = self.answers[-1]
        assert answer["request"] == len(self.answers) - 1
        return answer["text"], answer["error"]

    def category(self, name):
        return [one[0] for one in self.columns["categories"]].index(name)


@pytest.fixture
def widget_page(review):
    return Page(review)


def test_a_page_has_every_row(widget_page, queue):
    rows = widget_page.columns["rows"]
    assert sorted(rows["description"]) == sorted(queue["description"])
    assert sum(map(int, rows["units"])) == round(queue["uncategorized_amount"].sum() * 100)
    assert widget_page.columns["groups"]["start"] == [0, 1, 4, 6, 7, 8, 9]
    assert rows["day"][:2] == ["2025-03-08", "2025-03-04"]
    assert rows["split"][-1] == "Outflow to sort, Meals"
    travel = widget_page.category("Travel")
    assert rows["proposed"] == [
        widget_page.category("Sales"),
        travel,
        travel,
        travel,
        -1,
        -1,
        -1,
        -1,
        widget_page.category("Meals"),
    ]
    assert widget_page.columns["categories"][travel] == ["Travel", "Expenses:Travel", "travel"]


@pytest.mark.parametrize(
    "content",
    [{"action": "accept", "ids": ["other"]}, {"action": "assign", "ids": ["client"]}, {"action": "clear"}],
)
def test_a_page_of_another_review_is_refused(widget_page, review, content):
    assert widget_page.ask(**content)[1]
    assert review.decisions.empty
    assert widget_page.state["undo"] == ""


def test_texts_of_the_books_have_no_control_characters(make_queue, ledgers):
    review = aa.review(books_of(ledgers), make_queue([("a", "card", 1, "-1.00", HOSTILE)]))
    page = Page(review)
    assert all(text.isprintable() for text in page.columns["rows"]["description"])
    assert "<img src=x" not in review._repr_html_()
    assert repr(review).isascii() or all(line.isprintable() for line in repr(review).splitlines())


def test_units_are_sent_as_text(make_queue, ledgers):
    """A number of JavaScript does not hold every digit of a sum."""
    queue = make_queue([("a", "card", 1, "-9999999999999.99", "HUGE"), ("b", "card", 2, "-1.00", "X")])
    review = aa.review(books_of(ledgers), queue)
    assert Page(review).columns["rows"]["units"] == ["-999999999999999", "-100"]


@pytest.fixture
def displayed(monkeypatch):
    """Return a function that displays a review, and returns the bundles of its outputs."""
    shell = InteractiveShell.instance()
    yield_kernel = SimpleNamespace()

    def displayed(review, *, kernel):
        bundles = []

        def publish(data, _=None, *, update=False, **__):
            bundles.append((update, data))

        monkeypatch.setattr(shell.display_pub, "publish", publish)
        if kernel:
            monkeypatch.setattr(shell, "kernel", yield_kernel, raising=False)
        review._ipython_display_()
        return bundles

    yield displayed
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("is_batch", [True, False])
def test_a_job_shows_the_table_alone(displayed, review, monkeypatch, is_batch):
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BATCH", str(int(is_batch)))
    ((_, data),) = displayed(review, kernel=is_batch)
    assert sorted(data) == ["text/html", "text/plain"]
    assert TABLE_OF_GRID not in data["text/html"]


def test_a_notebook_saves_a_table(displayed, review, monkeypatch):
    monkeypatch.delenv("ACCOUNTING_ANALYTICS_BATCH", raising=False)
    bundles = displayed(review, kernel=True)
    assert [sorted(data) for _, data in bundles] == [["text/html", "text/plain"], [WIDGET, "text/plain"]]
    assert TABLE_OF_GRID in bundles[0][1]["text/html"]
    assert LIVE_GRID in bundles[0][1]["text/html"]
    assert bundles[1][1]["text/plain"] == ""

    async def decide():
        for one in ("uber-1", "uber-2", "client"):
            review.accept(one)
        while len(bundles) == 2:  # noqa: ASYNC110 (the loop of the kernel ends it)
            await asyncio.sleep(0.01)

    asyncio.run(decide())
    ((is_update, data),) = bundles[2:]
    assert is_update
    assert "3 of 9 transactions decided" in re.sub("<.*?>", "", data["text/html"])
