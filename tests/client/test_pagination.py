"""Following pages: the end of a list, pagination loops, expired page tokens."""

from typing import NamedTuple

import pytest

from accounting_analytics.client.ledger_client import MAX_PAGES_WITHOUT_NEW_IDS, follow_pages, restart_on_expired_token
from accounting_analytics.core.errors import ExpiredPageTokenError, ProtocolError, StatusError


class Page(NamedTuple):
    """A page of ids."""

    ids: list
    next_page_token: str | None


def follow(pages):
    """Follow pages by their token; None is the first one."""
    return list(follow_pages(lambda token, _: pages[token], subject="list (ledger led_1)"))


def test_pages_are_followed_to_the_one_without_a_token():
    """Empty pages are not the end, and the last page may repeat an earlier one."""
    pages = {None: Page([], "a"), "a": Page(["1", "2"], "b"), "b": Page([], "c"), "c": Page(["1", "2"], None)}
    assert follow(pages) == list(pages.values())


def test_pages_are_numbered():
    """Each request is told which page it is, for its messages."""
    requested = []

    def request_page(token, number):
        requested.append((token, number))
        return Page([str(number)], None if number == 3 else f"after {number}")

    assert len(list(follow_pages(request_page, subject="list"))) == 3
    assert requested == [(None, 1), ("after 1", 2), ("after 2", 3)]


def test_a_page_is_requested_when_it_is_needed():
    """A caller that stops early sends no further request."""
    requested = []

    def request_page(_, number):
        requested.append(number)
        return Page([str(number)], str(number))

    next(follow_pages(request_page, subject="list"))
    assert requested == [1]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({None: Page(["1"], "a"), "a": Page(["2"], "a")}, "page 2: pagination loop: next_page_token repeats"),
        (
            {None: Page(["1"], "a"), "a": Page(["2"], "b"), "b": Page(["3"], "a")},
            "page 3: pagination loop: next_page_token repeats",
        ),
        (
            {None: Page(["1"], "a"), "a": Page(["2"], "b"), "b": Page(["1"], "c")},
            "page 3: pagination loop: page 1 is repeated",
        ),
    ],
    ids=["same token", "earlier token", "same page"],
)
def test_loops_are_refused(pages, message):
    """A token or a page that repeats shows that the list never ends; the message names list and page."""
    with pytest.raises(ProtocolError, match=rf"list \(ledger led_1\), {message}"):
        follow(pages)


@pytest.mark.parametrize("ids", [lambda _: [], lambda number: ["1", "2"][:: 1 if number % 2 else -1] * number])
def test_pages_without_new_ids_are_refused(ids):
    """Empty pages, or the same ids in ever other pages, are followed for a while, not forever."""
    numbers = []

    def request_page(_, number):
        numbers.append(number)
        return Page(ids(number), f"token {number}")

    with pytest.raises(ProtocolError, match=f"the last {MAX_PAGES_WITHOUT_NEW_IDS} pages contain no new record"):
        list(follow_pages(request_page, subject="list"))
    assert len(numbers) in {MAX_PAGES_WITHOUT_NEW_IDS, MAX_PAGES_WITHOUT_NEW_IDS + 1}


def refuse(status, *, page):
    """Return a function that requests pages, the n-th of which is refused."""

    def request_page(_, number):
        if number == page:
            msg = "refused"
            raise StatusError(msg, status=status, error_code="code")
        return Page([str(number)], str(number))

    return request_page


def test_an_expired_page_token_has_its_own_error():
    """A refused page token is told apart from a refused request, by status and page."""
    for status in (400, 404, 410, 422):
        with pytest.raises(ExpiredPageTokenError, match="refused") as caught:
            list(follow_pages(refuse(status, page=2), subject="list"))
        assert (caught.value.status, caught.value.error_code) == (status, "code")
    for status, page in ((400, 1), (404, 1), (403, 2), (409, 2), (500, 2)):
        with pytest.raises(StatusError) as caught:
            list(follow_pages(refuse(status, page=page), subject="list"))
        assert not isinstance(caught.value, ExpiredPageTokenError)


@pytest.mark.parametrize(("failures", "attempts", "calls"), [(0, 3, 1), (2, 3, 3), (3, 3, 3), (1, 1, 1)])
def test_a_list_is_restarted_on_an_expired_token(failures, attempts, calls):
    """Reading starts again after an expired token, and fails after the last attempt."""
    numbers = []

    def read():
        numbers.append(len(numbers))
        if len(numbers) <= failures:
            msg = "expired"
            raise ExpiredPageTokenError(msg, status=400)
        return "read"

    if failures < attempts:
        assert restart_on_expired_token(read, attempts=attempts) == "read"
    else:
        with pytest.raises(ExpiredPageTokenError):
            restart_on_expired_token(read, attempts=attempts)
    assert len(numbers) == calls
