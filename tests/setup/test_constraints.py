"""constraints.txt pins every package that a supported machine can get, at the version that the requirements name."""

import itertools
import re
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from setup.__main__ import ROOT
from setup.constraints import HEAD, constraints_of

PYTHONS = ("3.11.0", "3.11.9", "3.12.0", "3.13.0")
MACHINES = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))


def pins() -> dict[str, Version]:
    """Each package's only version."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()[len(HEAD.splitlines()) :]
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+", line) for line in lines)
    found = {name: Version(version) for name, _, version in (line.partition("==") for line in lines)}
    assert len(found) == len(lines)
    return found


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt", "requirements-setup.txt"])
def test_each_requirement_is_pinned_to_the_same_version(file: str) -> None:
    lines = [line.partition("#")[0].strip() for line in (ROOT / file).read_text().splitlines()]
    required = [Requirement(line) for line in lines if line and not line.startswith("-r")]
    assert required
    pinned = pins()
    for each in required:
        [specifier] = each.specifier
        assert (specifier.operator, Version(specifier.version)) == ("==", pinned[canonicalize_name(each.name)])


def test_each_installed_distribution_is_pinned_to_the_version_that_is_installed() -> None:
    found = {canonicalize_name(each.metadata["Name"]): Version(each.version) for each in distributions()}
    installed = {str(name): Version(version.public) for name, version in found.items() if name != "pip"}
    assert len(installed) > 50
    assert installed.items() <= pins().items()


@pytest.mark.parametrize(("python", "machine"), list(itertools.product(PYTHONS, MACHINES)))
def test_what_an_installed_distribution_needs_on_a_supported_machine_is_pinned(
    python: str, machine: tuple[str, str]
) -> None:
    system, processor = machine
    environment = {
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "extra": "",
        "sys_platform": system,
        "platform_system": system.capitalize(),
        "platform_machine": processor,
    }
    needed = [Requirement(line) for each in distributions() for line in each.requires or ()]
    named = {canonicalize_name(each.name) for each in needed if not each.marker or each.marker.evaluate(environment)}
    assert len(named) > 50
    assert named <= pins().keys()


def test_names_are_canonical_and_a_build_of_a_version_is_that_version() -> None:
    packages = [{"name": "torch", "version": "2.13.0+cpu"}, {"name": "ml_dtypes", "version": "0.6.0"}]
    assert constraints_of(packages) == "ml-dtypes==0.6.0\ntorch==2.13.0\n"
