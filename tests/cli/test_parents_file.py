"""Parents of ledgers from a file: CSV and JSON, and what is refused with its row."""

import pytest

from accounting_analytics.cli.parents_file import read_parents
from accounting_analytics.errors import InputError


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


PARENTS = {"led_1": "led_2", "led_2": None}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("parents.csv", "ledger_id,parent_id\nled_1,led_2\nled_2,\n"),
        ("parents.csv", '\ufeffledger_id, parent_id\r\n"led_1", led_2 \r\n\r\nled_2,'),
        ("parents.csv", "name;PARENT_ID;ledger_id\nBank;led_2;led_1\nAssets;;led_2\n"),
        ("parents.JSON", '{"led_1": "led_2", "led_2": null}'),
    ],
    ids=["csv", "excel", "columns of a spreadsheet", "json"],
)
def test_parents(written, name, content):
    """A CSV file, also as spreadsheets write it, and a JSON object give the same parents."""
    assert read_parents(written(name, content)) == PARENTS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "", "its first row is empty"),
        ("p.csv", "id,parent\na,b\n", "the first row lacks ledger_id, parent_id; it has 2 other columns, first 'id'"),
        ("p.csv", "ledger_id|parent_id\na|b\n", "all columns are in one"),
        ("p.csv", "ledger_id,parent_id,parent_id\na,b,c\n", "a column appears twice: parent_id"),
        ("p.csv", "ledger_id,parent_id\na,b\nc\n", "row 3: fewer cells than the 2 columns"),
        ("p.csv", "ledger_id,parent_id\na,b,c\n", "row 2: more cells than the 2 columns"),
        ("p.csv", "ledger_id,parent_id\n,b\n", "row 2: ledger_id: the cell is empty"),
        ("p.csv", "ledger_id,parent_id\na,b\n\na,c\n", "row 4: ledger 'a' occurs more than once"),
        ("p.csv", "ledger_id,parent_id\na,a\n", "row 2: ledger 'a' is its own parent"),
        ("p.csv", 'ledger_id,parent_id\n"a"b,c\n', "row 2 is not a row of CSV"),
        ("p.csv", b"ledger_id,parent_id\n\xff,b\n", "it is not UTF-8 text"),
        ("p.json", "[]", "is not a JSON object"),
        ("p.json", '{"a": 5}', "ledger 'a': its parent is 5, not an id or null"),
        ("p.json", '{"a": {}}', "ledger 'a': its parent is (), not an id or null"),
        ("p.json", '{"a": "b", "a": "c"}', "ledger 'a' occurs more than once"),
        ("p.json", '{"a": ', "line 1 column"),
        ("p.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_refused(written, name, content, message):
    """A file of another form is refused with its name, the row or ledger, and the form expected."""
    with pytest.raises(InputError) as refused:
        read_parents(written(name, content))
    assert message in str(refused.value)
    assert name in str(refused.value)
    assert str(refused.value).startswith("--parents: ")
    assert "expected is a CSV file or an Excel workbook with the columns ledger_id and parent_id" in str(refused.value)


@pytest.mark.parametrize("name", ["missing.csv", ".", "a\0b.csv"])
def test_no_such_file(tmp_path, name):
    """A file that does not exist, a folder, and a name that cannot be one are refused."""
    with pytest.raises(InputError, match="--parents"):
        read_parents(tmp_path / name)
