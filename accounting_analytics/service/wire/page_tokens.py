"""Page tokens: where the next or previous page starts, signed, and bound to the query and the instance."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from itsdangerous import BadData, URLSafeSerializer

from accounting_analytics.errors import OperationRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNING = {"digest_method": sha256, "key_derivation": "hmac"}


class Cursor(NamedTuple):
    """A position in the (datetime, id) order of line entries, and the direction to read from there.

    Attributes
    ----------
    backward : bool
        Whether the page ends at the position instead of starting there.
    inclusive : bool
        Whether the line at the position belongs to the page.
    datetime : int
        Microseconds since 1970 of the line at the position.
    line_entry_id : str
        That line; it may have been moved to another ledger since.
    """

    backward: bool
    inclusive: bool
    datetime: int
    line_entry_id: str


class PageTokens:
    """Writes and reads the page tokens of one query.

    Parameters
    ----------
    key : bytes
        Secret of the database.
    query : sequence of str
        What a token is bound to: instance, ledger and every parameter except the token.
    """

    def __init__(self, key: bytes, query: Sequence[str]) -> None:
        bound = "".join(f"{len(part)}:{part}" for part in ("page-token", *query))
        self._serializer = URLSafeSerializer(key, salt=bound.encode(), signer_kwargs=_SIGNING)

    def write(self, cursor: Cursor) -> str:
        """Token of a cursor."""
        return str(self._serializer.dumps(list(cursor)))

    def read(self, token: str) -> Cursor:
        """Cursor of a token; 400 for one that was modified, or belongs to another query or instance."""
        try:
            cursor = Cursor(*self._serializer.loads(token))
        except BadData as error:
            raise _invalid_token() from error
        if self.write(cursor) != token:  # base64 ignores characters that do not belong to it
            raise _invalid_token()
        return cursor


def _invalid_token() -> OperationRefusedError:
    msg = "the page token belongs to another query; repeat every parameter with it, or start without a token"
    return OperationRefusedError(msg, status=400, error_code="invalid_page_token")
