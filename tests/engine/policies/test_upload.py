"""A policy's file that somebody has sent, looked at in a child."""

from pathlib import Path

import pytest

from engine.child.parent import Limits
from engine.errors import LimitError, SettingsError
from engine.policies.upload import check_policy
from tests.engine.policies.small_policies import changed, small_card, small_policy


def test_its_card_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_bytes(small_policy().to_bytes())
    assert check_policy(path, "mine") == small_card().to_json()


def test_what_is_wrong_is_reported_by_the_name_that_it_was_sent_with(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_bytes(changed("version", 9))
    with pytest.raises(SettingsError, match=r"^mine\.safetensors: its version is 9; allowed: version 3$"):
        check_policy(path, "mine.safetensors")
    path.write_bytes(b"")
    with pytest.raises(SettingsError, match=r"^mine: the file is empty; allowed: a policy written by Placeto$"):
        check_policy(path, "mine")


def test_one_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_bytes(bytes(1001))
    with pytest.raises(LimitError, match=r"the file is too large: 0.98 KiB; allowed: at most 0.98 KiB$"):
        check_policy(path, "mine", Limits(file_bytes=1000))
