"""A request goes to an address that may be reached, whatever a name, a redirect or a receiver tries."""

import socket
import threading

import httpcore
import pytest
from pytest_django import Settings

from tests.webapp.hooks.conftest import Names
from tests.webapp.hooks.receiver import CERTIFICATE, Receiver, receiving
from webapp.hooks import reachable
from webapp.hooks.http_post import MOST_ANSWER_BYTES, HttpAnswer, NotTakenError, post
from webapp.hooks.reachable import AllowedPlaces
from webapp.hooks.web_address import WebAddress

BODY = b'{"event":"test"}'


def send(text: str, *, seconds: float = 10.0) -> HttpAnswer:
    """As a delivery does."""
    return post(WebAddress.read(text, AllowedPlaces.of_settings()), {"X-Placeto-Event": "test"}, BODY, seconds)


def refused(text: str, *, seconds: float = 10.0) -> NotTakenError:
    with pytest.raises(NotTakenError) as found:
        send(text, seconds=seconds)
    assert "\n" not in str(found.value) and str(found.value).endswith(".")
    return found.value


@pytest.mark.usefixtures("loopback_allowed")
def test_an_allowed_receiver_gets_it_whole(receiver: Receiver) -> None:
    assert send(receiver.address(path="/in/here?a=1")) == HttpAnswer(200, b"thanks")
    [got] = receiver.got
    assert (got.path, got.body) == ("/in/here?a=1", BODY)
    assert got.headers["X-Placeto-Event"] == "test"
    assert got.headers["Host"] == f"127.0.0.1:{receiver.port}"


def test_a_name_is_judged_by_what_it_resolves_to(receiver: Receiver, names: Names) -> None:
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0"):
        names("inside.example", [address])
        error = refused(receiver.address("inside.example"))
        assert error.is_final and "is not a public one" in str(error)
    assert receiver.connections == 0


def test_a_name_with_one_address_inside_is_refused_whole(receiver: Receiver, names: Names) -> None:
    names("mixed.example", ["93.184.216.34", "127.0.0.1"])
    assert "127.0.0.1" in str(refused(receiver.address("mixed.example")))
    assert receiver.connections == 0


def test_an_old_spelling_of_an_address_is_judged_too(receiver: Receiver) -> None:
    """The form refuses them; what gets past it, in a database or by another resolver, is judged as any name."""
    for host in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost"):
        address = WebAddress("http", host, receiver.port, "/")
        with pytest.raises(NotTakenError, match="is not a public one"):
            post(address, {}, BODY)
    assert receiver.connections == 0


def test_a_name_that_changes_between_check_and_connection_is_looked_up_once(
    receiver: Receiver, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says a public address first and this machine's own then: the connection goes to the first, which is judged."""
    names("rebinding.example", ["93.184.216.34"], ["127.0.0.1"])
    reached: list[str] = []

    class Backend:
        def connect_tcp(self, host: str, *_: object, **__: object) -> None:
            reached.append(host)
            raise httpcore.ConnectError("nobody is there")

    monkeypatch.setattr(httpcore, "SyncBackend", Backend)
    assert str(refused(receiver.address("rebinding.example"))) == (
        "It cannot be reached: it refused or ended the connection."
    )
    assert reached == ["93.184.216.34"]
    assert receiver.connections == 0
    assert "127.0.0.1 is not a public one" in str(refused(receiver.address("rebinding.example")))
    assert reached == ["93.184.216.34"]


def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver, settings: Settings) -> None:
    settings.HOOKS_ALLOWED = ["127.0.0.1"]
    with receiving(host="127.0.0.2") as inside:
        receiver.status, receiver.headers = 307, {"Location": inside.address("127.0.0.2")}
        assert send(receiver.address()).status_code == 307
        assert inside.connections == 0


def test_an_allowed_name_reaches_what_it_resolves_to(receiver: Receiver, names: Names, settings: Settings) -> None:
    settings.HOOKS_ALLOWED = ["ci.internal"]
    names("ci.internal", ["127.0.0.1"])
    assert send(receiver.address("ci.internal")).status_code == 200
    assert receiver.got[0].headers["Host"] == f"ci.internal:{receiver.port}"


def test_an_address_of_this_machine_is_refused_before_anything_is_sent(
    receiver: Receiver, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have a public one, behind which services listen that trust the machine."""
    names("self.example", ["127.0.0.1"])
    monkeypatch.setattr(reachable, "is_public", lambda _address: True)
    assert str(refused(receiver.address("self.example"))).startswith("The address 127.0.0.1 is this machine's own.")
    assert receiver.connections == 0


@pytest.mark.usefixtures("loopback_allowed")
def test_a_long_answer_is_read_to_a_limit(receiver: Receiver) -> None:
    receiver.answer = b"x" * 5_000_000
    assert send(receiver.address()).beginning == b"x" * MOST_ANSWER_BYTES


@pytest.mark.usefixtures("loopback_allowed")
def test_a_receiver_that_hangs_is_left(receiver: Receiver) -> None:
    goes_on = threading.Event()
    receiver.before_answer = lambda: goes_on.wait(30)
    assert str(refused(receiver.address(), seconds=0.3)) == "It did not answer within 0.3 s."
    goes_on.set()


@pytest.mark.usefixtures("loopback_allowed")
@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_receiver_that_sends_byte_by_byte_is_left_too(part: str) -> None:
    """Each byte comes in time, all of them never."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 1000\r\n\r\n" if part == "body" else b""))
            while not ended.wait(0.05):
                try:
                    connection.sendall(b"x" if part == "body" else b"X: y\r\n")
                except OSError:
                    break
            connection.close()

        dripping = threading.Thread(target=drip)
        dripping.start()
        error = refused(f"http://127.0.0.1:{server.getsockname()[1]}/", seconds=0.5)
        ended.set()
        dripping.join()
    assert str(error) == "It did not answer within 0.5 s."


def test_a_name_that_nobody_resolves_in_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: goes_on.wait(30) and [])
    assert str(refused("http://slow.example/", seconds=0.3)) == "It did not answer within 0.3 s."
    goes_on.set()


def test_a_name_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no")

    monkeypatch.setattr(socket, "getaddrinfo", away)
    error = refused("http://nobody.example/SECRET")
    assert (str(error), error.is_final) == ("The name nobody.example cannot be resolved.", False)


@pytest.mark.usefixtures("loopback_allowed")
def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "It cannot be reached" in str(refused(f"http://127.0.0.1:{port}/"))


@pytest.mark.usefixtures("loopback_allowed")
def test_an_answer_that_is_not_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            connection, _ = server.accept()
            heard = b""
            while not heard.endswith(BODY):
                heard += connection.recv(65536)
            connection.sendall(b"220 mail.example ESMTP\r\n")
            connection.close()

        speaking = threading.Thread(target=speak)
        speaking.start()
        assert str(refused(f"http://127.0.0.1:{server.getsockname()[1]}/")) == "Its answer is not HTTP."
        speaking.join()


class TestTls:
    """A certificate is checked against the name, while the connection goes to an address."""

    @pytest.fixture(autouse=True)
    def _hooks_test_is_trusted(self, monkeypatch: pytest.MonkeyPatch, settings: Settings, names: Names) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        settings.HOOKS_ALLOWED = ["127.0.0.1"]
        names("hooks.test", ["127.0.0.1"])
        names("other.test", ["127.0.0.1"])

    def test_it_is_the_names(self) -> None:
        with receiving(tls=True) as receiver:
            assert send(receiver.address("hooks.test", scheme="https")).status_code == 200
            assert receiver.got[0].headers["Host"] == f"hooks.test:{receiver.port}"

    def test_it_is_another_names(self) -> None:
        with receiving(tls=True) as receiver:
            error = refused(receiver.address("other.test", scheme="https"))
            assert str(error).startswith("Its certificate is refused: ")
            assert receiver.got == []

    def test_nobody_trusts_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SSL_CERT_FILE")
        with receiving(tls=True) as receiver:
            assert "certificate" in str(refused(receiver.address("hooks.test", scheme="https")))
            assert receiver.got == []

    def test_it_has_none(self) -> None:
        with receiving() as receiver:
            assert str(refused(receiver.address("hooks.test", scheme="https"))) == (
                "It does not speak TLS as it should."
            )
