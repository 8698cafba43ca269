"""Error handlers: a client that disconnects during a request is not an error."""

import socket
import time
from urllib.parse import urlsplit

from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.instances import create_instance
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store


def test_a_disconnected_client_is_not_an_error(tmp_path, caplog):
    """A request that is cut off in its body logs no error, and the next client is served."""
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store)
        token = issue_token(store, instance)
    head = (
        f"POST /v0/ledgers HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
        f"service-instance-id: {instance}\r\n"
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    )
    with running(tmp_path / "books.db") as service:
        url = urlsplit(service.base_url)
        with socket.create_connection((url.hostname, url.port)) as cut:
            cut.sendall(head.encode())
            time.sleep(0.2)
        with socket.create_connection((url.hostname, url.port)) as whole:
            whole.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert whole.recv(15) == b"HTTP/1.1 200 OK"
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
