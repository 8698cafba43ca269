"""Access tokens: which give access to an instance, which no longer do, and what is listed."""

import time

import pytest

from accounting_analytics.core.errors import InputError
from accounting_analytics.service.instances import issue_token, list_tokens, revoke_token


def test_an_expired_token_is_refused(books):
    """A token with a lifetime is valid until it expires."""
    token = issue_token(books.store, books.instance_id, lifetime=1)
    assert books.status_with(token) == (200, None)
    time.sleep(1.05)
    assert books.status_with(token) == (401, 'Bearer realm="accounting-analytics", error="invalid_token"')


def test_a_revoked_token_is_refused(books):
    """A revoked token is refused from the next request on, others are not; revoking it again changes nothing."""
    token = issue_token(books.store, books.instance_id, label="notebook")
    assert books.status_with(token) == (200, None)
    key = next(one.key for one in list_tokens(books.store, books.instance_id) if one.label == "notebook")
    revoke_token(books.store, key)
    (first,) = [one.revoked_at for one in list_tokens(books.store, books.instance_id) if one.key == key]
    assert books.status_with(token) == (401, 'Bearer realm="accounting-analytics", error="invalid_token"')
    revoke_token(books.store, key)
    (second,) = [one.revoked_at for one in list_tokens(books.store, books.instance_id) if one.key == key]
    assert first == second
    assert books.status_with(books.token) == (200, None)


def test_lists_have_no_secrets(books, make_books):
    """Lists have the tokens of one instance or of all, and no part of a secret."""
    other = make_books()
    token = issue_token(books.store, books.instance_id, label="nightly", lifetime=60)
    tokens = list_tokens(books.store, books.instance_id)
    assert [one.label for one in tokens] == ["", "nightly"]
    assert (tokens[1].expires_at - tokens[1].created_at).total_seconds() == 60
    assert {one.instance_id for one in list_tokens(books.store)} >= {books.instance_id, other.instance_id}
    assert token.partition(".")[2] not in repr(tokens)


def test_what_is_refused(books):
    """A lifetime that is not positive or too long, and an unknown instance or token; nothing is issued."""
    before = list_tokens(books.store)
    for lifetime in (0, -1, float("nan"), float("inf"), 1e12):
        with pytest.raises(InputError, match="nothing was issued"):
            issue_token(books.store, books.instance_id, lifetime=lifetime)
    for call in (issue_token, list_tokens):
        with pytest.raises(InputError, match="no instance 'nothing'"):
            call(books.store, "nothing")
    with pytest.raises(InputError, match="key 'abc'"):
        revoke_token(books.store, "abc")
    assert list_tokens(books.store) == before
