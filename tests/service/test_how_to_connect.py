"""Lines that connect a client: what an instance states, and where its token is; the commands' own tests run them."""

from accounting_analytics.service.database import Store
from accounting_analytics.service.how_to_connect import connection_lines
from accounting_analytics.service.instances import NewInstance, create_instance, first_instance, port_of

ADDRESS = "http://127.0.0.1:20001"


def test_the_token_file_is_that_of_the_first_instance(tmp_path):
    with Store.open(tmp_path / "books.db") as store:
        with first_instance(store, NewInstance(id="first", localtime="Asia/Tokyo")):
            pass
        create_instance(store, NewInstance(id="second", scale=3, company="A\\B", currency="¥"))
        first, second = (connection_lines(store, store.instance(one), ADDRESS) for one in ("first", "second"))
        ports = [port_of(store.instance(one)) for one in ("first", "second")]
    token_file = tmp_path / "books.db.token"
    options = f'base_url="{ADDRESS}", instance_id="first", token_file="{token_file}", time_zone="Asia/Tokyo"'
    assert first[1:4] == [
        "  import accounting_analytics as aa",
        f"  client = aa.connect({options})",
        "  books = aa.load_books(client)",
    ]
    assert not any("tokens issue" in line for line in first)
    options = f"""base_url="{ADDRESS}", instance_id="second", company='A\\\\B', currency="¥", scale=3"""
    assert second[2] == f"  client = aa.connect({options})"
    assert not any("TOKEN_FILE" in line or "TIME_ZONE" in line for line in second)
    assert second[-1].endswith(f"tokens issue --database {tmp_path / 'books.db'} --instance second --token-file FILE")
    assert len(set(ports)) == 2
    assert all(20_000 <= port < 30_000 for port in ports)
