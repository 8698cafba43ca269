"""Parents of ledgers from a file: a sheet, and what is refused with its row."""

import pytest

from accounting_analytics.cli.loading import read_parents
from accounting_analytics.core.errors import InputError


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
    ],
    ids=["csv", "excel", "columns of a spreadsheet"],
)
def test_parents(written, name, content):
    """A CSV file gives the parents, also as spreadsheets write it."""
    assert read_parents(written(name, content)) == PARENTS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "", "its first row is empty"),
        ("p.csv", "id,parent\na,b\n", "the first row lacks ledger_id, parent_id; it has 2 other columns, first 'id'"),
        ("p.csv", "ledger_id,parent_id\n,b\n", "row 2: ledger_id: the cell is empty"),
        ("p.csv", "ledger_id,parent_id\na,b\n\na,c\n", "row 4: ledger 'a' occurs more than once"),
        ("p.csv", "ledger_id,parent_id\na,a\n", "row 2: ledger 'a' is its own parent"),
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


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_no_such_file(tmp_path, name):
    """A file that does not exist and a folder are refused."""
    with pytest.raises(InputError, match="--parents"):
        read_parents(tmp_path / name)
