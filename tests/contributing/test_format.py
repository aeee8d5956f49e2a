"""A format is one file and one row: the command line, the upload form and the bounded children take it."""

import json
from pathlib import Path

import pytest

from tests.contributing.patched import ROOT, Copy, changed_files, patched

RECIPE = "format"
TABLE = """op,type,time_us,output_bytes,inputs
images,Placeholder,0,602112,
sum,Add,7,3211264,conv;images
conv,Conv2D,41.5,3211264,images
"""
UPLOAD_FORM = """
import django
django.setup()
from webapp.graphs.forms import UploadForm
field = UploadForm.base_fields["file"]
print(field.widget.attrs["accept"], field.help_text)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return patched(RECIPE, tmp_path_factory.mktemp("format"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def test_the_diff_is_one_new_file_and_one_line() -> None:
    (file, reader), (registry, row) = changed_files(RECIPE).items()
    assert reader.is_new and not (ROOT / file).exists()
    assert Path(file).parent == Path("engine/formats")
    assert registry == "engine/formats/registry.py"
    assert (row.is_new, len(row.added), row.removed) == (False, 1, ())


def test_inspect_reads_it(copy: Copy, table: Path) -> None:
    shown = copy.output("-m", "engine", "inspect", table)
    assert "3 ops, 3 types, 3 edges" in shown
    assert "Op times: 3 given (100 %)" in shown
    assert "any device 48.5 µs" in shown


def test_it_is_placed(copy: Copy, table: Path, tmp_path: Path) -> None:
    placement = tmp_path / "placement.json"
    command = ("-m", "engine", "place", table, "--cluster", "2xK80", "--method", "m_topo")
    copy.output(*command, "--out", placement)
    assert sorted(json.loads(placement.read_text())) == ["conv", "images", "sum"]
    refused = copy.run(*command, "--out", tmp_path / "placed.pb")
    assert refused.returncode == 2
    message = "--out: a table of ops holds no GraphDef; allowed: a name that ends in .json"
    assert refused.stderr.splitlines()[-1] == message


def test_the_upload_form_names_it(copy: Copy) -> None:
    suffixes, words = copy.output("-c", UPLOAD_FORM).split(maxsplit=1)
    assert suffixes.split(",")[-1] == ".csv"
    assert "a table of ops (.csv)" in words


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("op,type", "type,op", "row 1: this is no table of ops; allowed: op,type,time_us,output_bytes,inputs"),
        ("41.5", "forty", "row 4: 'forty'; allowed: a number"),
        ("41.5", "nan", "node 2 (conv), time_us: nan; allowed: a number from 0 to 1e+12"),
        ("41.5,", "", "row 4: 4 values; allowed: 5 values"),
        ("conv;", "none;", "row 3, inputs: 'none'; allowed: ops of the table"),
        ("602112,", "602112,sum", "edges: 2 ops form a cycle: images → sum → images; allowed: an acyclic graph"),
        ("images,P", '"images,P', "this is not CSV: unexpected end of data; allowed: commas, double quotes"),
    ],
)
def test_a_broken_table_is_refused_in_one_line(copy: Copy, table: Path, right: str, wrong: str, message: str) -> None:
    table.write_text(TABLE.replace(right, wrong, 1))
    refused = copy.run("-m", "engine", "inspect", table)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == ["reading the graph", message]
