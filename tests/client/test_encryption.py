"""HTTPS and proxies on real connections: only a service with a trusted certificate receives the token."""

import socket
import subprocess
import sys

import pytest

import accounting_analytics as aa
from accounting_analytics.client import http as client_http
from accounting_analytics.core.errors import (
    CertificateRefusedError,
    ConfigurationError,
    NoConnectionError,
    ServerFaultError,
    TransportError,
)

MARCH = ("2025-03-01", "2025-03-31")
TOKEN, SECRET = "canary-token-value", "canary-client-secret"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def _no_proxies_or_certificates(monkeypatch):
    """Unset the proxies and certificates of this machine."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory, program_path):
    """Return a function that makes a self-signed certificate for a name."""
    folder = tmp_path_factory.mktemp("certificates")

    def make(name):
        file = folder / f"{name.partition(':')[2]}.pem"
        made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=books"]
        made += ["-addext", f"subjectAltName={name}", "-out", file, "-keyout", file.with_suffix(".key")]
        subprocess.run([program_path("openssl"), *made], check=True, capture_output=True)  # noqa: S603 (fixed arguments)
        return file

    return make


def starting_cash(base_url, **options):
    with aa.LedgerClient(base_url, token=TOKEN, instance_id="ins_1", **{"timeout": 5.0, **options}) as client:
        return str(client.retrieve_cash_flow_report(*MARCH).starting_cash_balance)


@pytest.mark.openssl
def test_an_untrusted_certificate_is_refused(serving, certificates):
    server = serving(certificates("IP:127.0.0.1"))
    with pytest.raises(
        CertificateRefusedError, match=r"self.signed certificate.*nothing was sent.*SSL_CERT_FILE"
    ) as caught:
        starting_cash(server.base_url)
    assert (server.connections, server.requests) == (1, [])
    assert TOKEN not in repr(caught.value)


@pytest.mark.openssl
def test_private_authority_is_trusted_for_its_host_only(serving, certificates, monkeypatch):
    known, other = certificates("IP:127.0.0.1"), certificates("DNS:other.example")
    server, elsewhere = serving(known), serving(other)
    monkeypatch.setenv("SSL_CERT_FILE", str(known))
    assert starting_cash(server.base_url) == "10.05"
    assert server.requests[0][2]["authorization"] == f"Bearer {TOKEN}"
    monkeypatch.setenv("SSL_CERT_FILE", str(other))
    with pytest.raises(CertificateRefusedError, match="IP address mismatch"):
        starting_cash(elsewhere.base_url)
    assert elsewhere.requests == []


@pytest.mark.parametrize("name", ["absent.pem", "empty.pem"])
def test_unreadable_certificates_are_named_before_sending(tmp_path, monkeypatch, name):
    (tmp_path / "empty.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
    with pytest.raises(ConfigurationError, match=r"the certificates \(SSL_CERT_FILE, SSL_CERT_DIR\).*cannot be used"):
        starting_cash("https://127.0.0.1:1")


def test_plain_http_at_an_https_address_is_named(serving):
    with pytest.raises(NoConnectionError, match=r"does it speak HTTPS there, or plain http\?; no success after 2"):
        starting_cash(serving().base_url.replace("http:", "https:"))


def test_agreeing_on_encryption_has_its_own_limit(monkeypatch):
    monkeypatch.setattr(client_http, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoConnectionError, match=r"nothing responded within.*no success after 2 attempts"):
            starting_cash(address, timeout=300.0)


@pytest.mark.openssl
def test_the_client_secret_is_not_sent_to_an_untrusted_server(serving, certificates):
    server, issuer = serving(), serving(certificates("IP:127.0.0.1"))
    credentials = aa.ClientCredentials(f"{issuer.base_url}/oauth/token", "me", SECRET)
    client = aa.LedgerClient(server.base_url, token=credentials, instance_id="ins_1")
    with client, pytest.raises(CertificateRefusedError, match="get a token for client 'me'"):
        client.retrieve_cash_flow_report(*MARCH)
    assert (issuer.connections, issuer.requests, server.requests) == (1, [], [])


@pytest.mark.openssl
def test_redirects_to_http_or_other_hosts_are_refused(serving, certificates, monkeypatch):
    certificate = certificates("IP:127.0.0.1")
    server, other = serving(certificate), serving()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    address = f"{other.base_url}/v0/reports/cash-flow"
    server.fault = lambda *_: lambda sender, _: sender.send(b"", "302 Found", location=address)
    with pytest.raises(ServerFaultError, match="redirects, which is not followed"):
        starting_cash(server.base_url)
    assert other.connections == 0


def test_plain_http_proxy_is_used_except_for_no_proxy(serving, monkeypatch):
    proxy = serving()
    monkeypatch.setenv("HTTP_PROXY", proxy.base_url)
    assert starting_cash("http://ledgers.test") == "10.05"
    ((method, target, headers, _),) = proxy.requests
    assert (method, target.partition("?")[0]) == ("GET", "http://ledgers.test/v0/reports/cash-flow")
    assert headers["host"] == "ledgers.test"
    monkeypatch.setenv("NO_PROXY", "ledgers.test")
    with pytest.raises(TransportError, match=r"cannot connect to http://ledgers\.test \("):
        starting_cash("http://ledgers.test", max_attempts=1)
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_this_machine_is_never_reached_through_a_proxy(serving, monkeypatch, variable):
    """Without NO_PROXY, too, requests to loopback are sent directly; they would end at another machine's loopback."""
    proxy, server = serving(), serving()
    monkeypatch.setenv(variable, proxy.base_url)
    for host in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert starting_cash(server.base_url.replace("127.0.0.1", host)) == "10.05"
    assert (proxy.requests, len(server.requests)) == ([], 3)


@pytest.mark.parametrize("host", ["127.8.9.10", "[::1]", "books.localhost", "localhost."])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_other_names_of_this_machine_use_no_proxy(monkeypatch, host, scheme):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(TransportError) as caught:
            starting_cash(f"{scheme}://{host}:{port}", max_attempts=1)
        assert "through the proxy" not in str(caught.value)
        with pytest.raises(TransportError, match="through the proxy"):
            starting_cash(f"{scheme}://127.0.0.1.example:{port}", max_attempts=1)


@pytest.mark.openssl
def test_https_proxy_sees_only_host_and_encrypted_bytes(serving, certificates, monkeypatch):
    certificate = certificates("DNS:ledgers.test")
    proxy, server = serving(), serving(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("HTTPS_PROXY", proxy.base_url.replace("//", "//ana:canary-proxy@"))
    assert starting_cash(f"https://ledgers.test:{server.port}") == "10.05"
    ((method, target, headers, _),) = proxy.requests
    assert (method, target) == ("CONNECT", f"ledgers.test:{server.port}")
    assert headers.keys() & {"authorization", "service-instance-id"} == set()
    assert "proxy-authorization" in headers
    carried = b"".join(proxy.carried)
    assert carried
    assert TOKEN.encode() not in carried
    assert b"cash-flow" not in carried
    assert "proxy-authorization" not in server.requests[0][2]


@pytest.mark.openssl
def test_a_tunnel_to_another_server_is_refused(serving, certificates, monkeypatch):
    proxy, forged = serving(), serving(certificates("DNS:other.example"))
    monkeypatch.setenv("HTTPS_PROXY", proxy.base_url)
    with pytest.raises(CertificateRefusedError):
        starting_cash(f"https://ledgers.test:{forged.port}")
    assert len(proxy.requests) == 1
    assert forged.requests == []


def test_unreachable_proxy_is_named_without_its_password(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        proxy = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("HTTP_PROXY", f"http://ana:canary-proxy@{proxy}")
    with pytest.raises(TransportError, match=f"connect to http://ledgers.test through the proxy {proxy} ") as caught:
        starting_cash("http://ledgers.test", max_attempts=1)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("address", ["ftp://ana:canary-proxy@127.0.0.1:1", "http://ana:canary-proxy@[::1"])
def test_invalid_proxy_address_is_refused_without_its_password(monkeypatch, address):
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(ConfigurationError, match=r"the proxy \(HTTP_PROXY.*cannot be used") as caught:
        starting_cash("https://ledgers.test")
    assert "canary" not in str(caught.value)


def test_socks_proxy_names_the_package_to_install(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigurationError, match=r"SOCKS proxy.*pip install httpx\[socks\]"):
        aa.LedgerClient("http://ledgers.test", token=TOKEN, instance_id="ins_1")
