"""The command verify-pack: exit code 0 where nothing fails, 3 where something does, 2 where the file is not a pack."""

import json

import pytest
from alterations import alter
from small_packs import make_books, write_pack


@pytest.fixture
def pack(tmp_path):
    """Return the file of a genuine pack and its fingerprint."""
    path = tmp_path / "pack.html"
    return path, write_pack(path, make_books(7))


def test_a_genuine_pack_and_an_altered_one(run, pack):
    """What was checked and what fails is printed, and the exit code says which."""
    path, fingerprint = pack
    genuine = run("verify-pack", path, "--fingerprint", fingerprint)
    assert (genuine.returncode, genuine.stderr) == (0, "")
    assert genuine.stdout.startswith("Verified: 28 figures of ")
    other = run("verify-pack", path, "--fingerprint", f"0000{fingerprint[4:]}")
    assert other.returncode == 3
    assert "- fingerprint: shown 0000" in other.stdout
    path.write_text(alter("figure", 1, path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    altered = run("verify-pack", path)
    assert altered.returncode == 3
    assert "- figure, " in altered.stdout
    assert "is not the page as it was written; ask its sender" in altered.stderr
    as_json = run("verify-pack", path, "--json")
    content = json.loads(as_json.stdout)
    assert (as_json.returncode, content["verified"], content["figures"]) == (3, False, 28)
    assert {fault["what"] for fault in content["faults"]} == {"figure"}


def test_a_file_that_is_not_a_pack(run, assert_refused, pack, tmp_path):
    """Another file, and a text that is not a fingerprint, are 2."""
    (tmp_path / "page.html").write_text("<html></html>", encoding="utf-8")
    assert_refused(run("verify-pack", tmp_path / "page.html"), 2, "is not a pack: it has no data of its figures")
    assert_refused(run("verify-pack", pack[0], "--fingerprint", "0123"), 2, "'0123' is not a fingerprint")
