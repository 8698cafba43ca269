"""Paging: page after page of a list, up to the last one; a list that would never end is refused."""

from __future__ import annotations

import contextlib
import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, TypeVar

from accounting_analytics.core.errors import ExpiredPageTokenError, ProtocolError, StatusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_PAGES_WITHOUT_NEW_IDS = 100
_STATUSES_OF_EXPIRED_TOKENS = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.UNPROCESSABLE_ENTITY}
)


class ListPage(Protocol):
    """One page of a list."""

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the records on the page."""
        ...

    @property
    def next_page_token(self) -> str | None:
        """Token of the next page; None on the last one."""
        ...


Page = TypeVar("Page", bound=ListPage)
Result = TypeVar("Result")


def follow_pages(request_page: Callable[[str | None, int], Page], *, subject: str) -> Iterator[Page]:
    """Yield page after page up to the one without a next page token; an empty page is not the end.

    `request_page` requests the page of a token (None for the first page) and of a number, and `subject` is what is
    listed, for messages. A token that the service refuses, and a list that would never end, are errors.
    """
    guard = _LoopGuard(subject)
    token: str | None = None
    for number in itertools.count(1):
        try:
            page = request_page(token, number)
        except StatusError as error:
            # the first page succeeded with the same request, so only its token can be wrong
            if token is None or error.status not in _STATUSES_OF_EXPIRED_TOKENS:
                raise
            raise ExpiredPageTokenError(str(error), status=error.status, error_code=error.error_code) from None
        token = page.next_page_token
        if token is None:
            yield page
            return
        guard.check(number, token, page.ids)
        yield page


def restart_on_expired_token(read: Callable[[], Result], *, attempts: int) -> Result:
    """Call `read` again from its first page when a page token expires, `attempts` times in all."""
    for _ in range(attempts - 1):
        with contextlib.suppress(ExpiredPageTokenError):
            return read()
    return read()


class _LoopGuard:
    """Remembers the tokens, pages and ids of one list, and refuses a page that shows that the list never ends."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._tokens: set[str] = set()
        self._page_numbers: dict[int, int] = {}
        self._ids: set[str] = set()
        self._pages_without_new_ids = 0

    def check(self, number: int, token: str, ids: Sequence[str]) -> None:
        """Record the ids and the next page token of a page that is not the last one."""
        where = f"{self._subject}, page {number}: pagination loop"
        if token in self._tokens:
            raise ProtocolError(f"{where}: next_page_token repeats that of an earlier page")
        self._tokens.add(token)
        first = self._page_numbers.setdefault(hash(tuple(ids)), number) if ids else number
        if first != number:
            raise ProtocolError(f"{where}: page {first} is repeated under another page token")
        known = len(self._ids)
        self._ids.update(ids)
        self._pages_without_new_ids = 0 if len(self._ids) > known else self._pages_without_new_ids + 1
        if self._pages_without_new_ids >= MAX_PAGES_WITHOUT_NEW_IDS:
            raise ProtocolError(
                f"{where}: the last {MAX_PAGES_WITHOUT_NEW_IDS} pages contain no new record, and more are announced"
            )
