"""Which server is asked, by which token; the token is shown nowhere."""

import io
import json
import logging
import stat
import sys
import traceback
from pathlib import Path

import placeto
import pytest
from placeto.command_line import main
from placeto.errors import ClientError, ServerError
from placeto.remote.login import Login, Token, find_login, login_file, store_login

from tests.client.scripted_server import Answer, Asked, scripted

TOKEN = "plx_a-token-that-nobody-may-see-0123abcd"
ME = {"user": "ada", "accounts": "local", "scope": "write"}
NOBODY = {"user": None, "accounts": "off", "scope": "admin"}
REFUSAL = {"error": {"code": "unauthorized", "message": "Send a valid token.", "field": None}}
OURS = "http://127.0.0.1:8000"


def asks_for_a_token(asked: Asked, _number: int) -> Answer:
    """With the right one it says who asks."""
    return Answer(body=ME) if asked.headers.get("authorization") == f"Bearer {TOKEN}" else Answer(401, REFUSAL)


def test_arguments_come_before_the_environment_and_that_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientError, match="no server is known: run `placeto login ADDRESS`"):
        find_login(None, None)
    store_login(Login("https://stored", Token("plx_stored")))
    assert find_login(None, None) == Login("https://stored", Token("plx_stored"))
    monkeypatch.setenv("PLACETO_URL", "https://environment/")
    assert find_login(None, None) == Login("https://environment", None), "a stored token goes to its server alone"
    monkeypatch.setenv("PLACETO_TOKEN", "plx_environment")
    assert find_login(None, None) == Login("https://environment", Token("plx_environment"))
    assert find_login("https://argument", "plx_argument") == Login("https://argument", Token("plx_argument"))


@pytest.mark.parametrize(
    "address", ["", "localhost:8000", "ftp://a", "http://", "http://u:p@a", "http://a?x=1", "http://a:x", "http://a:0"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ClientError, match=r"allowed: such as http://127\.0\.0\.1:8000|no server is known"):
        find_login(address, None)


@pytest.mark.parametrize("token", ["plx_ä", "plx_a b", "plx_a\nb", " \n "])
def test_what_is_no_token_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ClientError) as caught:
        find_login(OURS, token)
    assert "plx_a" not in str(caught.value).replace("plx_…", "")


def test_a_login_is_stored_for_its_owner_alone(config_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(lambda _asked, _number: Answer(body=NOBODY)) as server:
        assert main(["login", f"{server.address}/"]) == 0
        assert json.loads(login_file().read_text()) == {"address": server.address, "token": None}
        assert f"logged in at {server.address}; stored in" in capsys.readouterr().out
    assert login_file().is_relative_to(config_folder)
    assert stat.S_IMODE(login_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(login_file().parent.stat().st_mode) == 0o700
    assert [each.name for each in login_file().parent.iterdir()] == ["login.json"]
    assert (main(["logout"]), main(["logout"])) == (0, 0)
    assert capsys.readouterr().out == "logged out\nthere was no login\n"
    assert not login_file().exists()


def test_a_token_comes_from_the_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted(asks_for_a_token) as server:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TOKEN}\n"))
        assert main(["login", server.address, "--token", "-"]) == 0
        said = capsys.readouterr()
        assert "as ada, who may write" in said.out and TOKEN not in said.out + said.err
        assert placeto.Client().me().user == "ada"


def test_without_a_terminal_nobody_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted(asks_for_a_token) as server:
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        assert main(["login", server.address]) == 2
        assert capsys.readouterr().err == (
            f"placeto: {server.address} asks for a token: give it on the standard input, with --token -\n"
        )
    assert not login_file().exists()


def test_a_terminal_is_asked_without_echo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda _prompt: TOKEN)
    with scripted(asks_for_a_token) as server:
        assert main(["login", server.address]) == 0
    assert "as ada" in capsys.readouterr().out


def test_a_wrong_token_is_not_stored(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(asks_for_a_token) as server:
        monkeypatch.setattr(sys, "stdin", io.StringIO("plx_wrong\n"))
        assert main(["login", server.address, "--token", "-"]) == 2
    assert capsys.readouterr().err == "placeto: Send a valid token.\n"
    assert not login_file().exists()


def test_a_token_in_a_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["login", OURS, "--token", TOKEN]) == 2
    error = capsys.readouterr().err
    assert error.startswith("placeto: --token takes -,") and TOKEN not in error


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"address": 3, "token": null}', '{"address": "x", "token": null}'])
def test_a_damaged_file_is_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    login_file().parent.mkdir(parents=True)
    login_file().write_text(text)
    assert main(["runs"]) == 2
    assert capsys.readouterr().err == (
        f"placeto: {login_file()}: this is no login; run `placeto login ADDRESS` again\n"
    )


def test_a_token_is_in_no_repr_log_or_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with scripted(lambda _asked, number: Answer(lost_after=-1) if number else Answer(401, REFUSAL)) as server:
        client = placeto.Client(server.address, TOKEN)
        assert repr(client) == f"Client({server.address!r})"
        client._connection.sleep = lambda _seconds: None
        client._connection._patience_seconds = 0
        told = []
        for _ in range(2):
            with pytest.raises(ClientError) as caught:
                client.me()
            told.append(traceback.TracebackException.from_exception(caught.value, capture_locals=True))
    text = "".join("".join(each.format()) for each in told) + caplog.text + repr(find_login(server.address, TOKEN))
    assert "Send a valid token." in text and "does not answer" in text and "me" in text
    assert TOKEN not in text and TOKEN[:20] not in text


def test_a_server_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(lambda _asked, _number: Answer()) as server:
        address = server.address
    assert main(["login", address]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"placeto: {address} does not answer: ") and error.count("\n") == 1


def test_another_site_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(lambda _asked, _number: Answer(body=b"<html>")) as server, pytest.raises(ServerError) as caught:
        placeto.Client(server.address).me()
    assert (caught.value.code, caught.value.status) == ("bad_answer", 200)
