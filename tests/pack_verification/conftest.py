"""Packs of small books."""

import pytest
from small_packs import make_books, write_pack


@pytest.fixture
def pack(tmp_path):
    """Return the file of a genuine pack and its fingerprint."""
    path = tmp_path / "pack.html"
    return path, write_pack(path, make_books(7))
