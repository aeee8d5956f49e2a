"""Ten models of the suite, as exported and as placed; the closed forms beside twins; the experiment's keeping."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from engine.child.parent import run_in_child
from engine.errors import SettingsError
from engine.events import Json
from experiments import memory_peaks, verdicts
from experiments.folders import ROOT
from experiments.keras_files import OPTIONS, SUFFIXES, keras_file
from tests.models import reading_times, table
from tests.models.__main__ import main
from tests.models.making import LIMITS, file_of
from tests.models.model import FORMS, SAVED_MODEL
from tests.models.page import LOOPED, UNROLLED, is_near, pages
from tests.models.products import convolution, einsum, matrix_product, transposed_convolution
from tests.models.registry import MODELS

IN_CHILD = "tests.models.try_in_child"
SMALL = [name for name, model in MODELS.items() if model.small]
LEAST_OF_A_FORM = 10


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The figures of each model and of its placements, by name; two processes share the models."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        parts = list(pool.map(_tried, ([*SMALL[::2], UNROLLED], SMALL[1::2])))
    return parts[0] | parts[1]


def _tried(names: list[str]) -> dict[str, Any]:
    order: dict[str, Json] = {"names": list(names), "placed": [*SMALL]}
    return run_in_child(f"{IN_CHILD}:try_models_in_child", order, LIMITS, task="trying models")[1]


@pytest.mark.parametrize("name", SMALL)
def test_a_saved_model_is_read_and_costed_whole(name: str, found: dict[str, Any]) -> None:
    row = found[name]
    assert "refused" not in row, row
    assert row["heavy_ops"] and row["heavy_unknown"] == 0, row["heavy_unknown_why"]
    assert row["unknown_ops"] == 0, row["unknown_types"]
    assert is_near(row), (row["flops"], row["closed_flops"])
    assert row["persistent_bytes"] == row["closed_persistent_bytes"]


@pytest.mark.parametrize("name", SMALL)
def test_its_placed_file_runs_as_written(name: str, found: dict[str, Any]) -> None:
    placed = found[name]["placed"]
    assert placed["placements"] and placed["compared"] >= placed["placements"] * 70, "looked at something"
    assert placed["not_finite"] == 0, "NaNs would all be equal"
    assert placed["mismatches"] == placed["changed"] == placed["far"] == 0, placed["examples"]


def test_a_loop_takes_as_long_as_the_same_unrolled(found: dict[str, Any]) -> None:
    looped, unrolled = found[LOOPED], found[UNROLLED]
    assert looped["ops"] < unrolled["ops"] / 4 and [loop["trips"] for loop in looped["loops"]] == [40, 40]
    assert looped["flops"] == unrolled["flops"]
    assert looped["one_device_ms"] == pytest.approx(unrolled["one_device_ms"], rel=0.15)


def test_the_suite_is_what_the_page_claims() -> None:
    assert len(SMALL) == 10 and {"gpt", "vit", "lstm_40"} <= set(SMALL)
    assert len(MODELS) >= 30 and all(SAVED_MODEL in model.forms for model in MODELS.values())
    of_form = Counter(form for model in MODELS.values() for form in model.forms)
    assert set(of_form) == set(FORMS) and min(of_form.values()) >= LEAST_OF_A_FORM
    assert sum(model.trains for model in MODELS.values()) >= LEAST_OF_A_FORM


def test_closed_forms_of_single_layers() -> None:
    found = run_in_child(f"{IN_CHILD}:count_layers_in_child", {}, LIMITS, task="counting")[1]
    of_gru = [7 * matrix_product(2, 3, 15), 7 * matrix_product(2, 5, 15)]
    assert found == {
        "LSTM": [7 * matrix_product(2, 3, 20), 7 * matrix_product(2, 5, 20)],
        "GRU, both ways": of_gru * 2,
        "Conv2D": [2 * (2 * 4 * 4 * 6) * 9 * 2],
        "DepthwiseConv2D": [2 * (2 * 6 * 6 * 8) * 9],
        "SeparableConv1D": [2 * (2 * 8 * 4) * 3, matrix_product(16, 4, 6)],
        "Conv2DTranspose": [2 * (2 * 8 * 8 * 4) * 9 * 6],
        "Dense": [matrix_product(16, 4, 6)],
        "EinsumDense": [matrix_product(16, 4, 30)],
        "MultiHeadAttention": [
            matrix_product(14, 4, 6),
            matrix_product(18, 6, 6),
            matrix_product(18, 6, 10),
            4 * matrix_product(7, 3, 9),
            4 * matrix_product(7, 9, 5),
            matrix_product(14, 10, 4),
        ],
    }


def test_products_are_what_loops_count() -> None:
    """A convolution of [2, 5, 4] (batch, places, channels) by 3 places into 6 channels, without padding."""
    batch, places, channels, kernel, filters = 2, 5, 4, 3, 6
    output = (batch, places - kernel + 1, filters)
    multiply_adds = sum(1 for _ in product(*map(range, output), range(kernel), range(channels)))
    assert convolution(output, (kernel,), channels) == 2 * multiply_adds
    assert convolution(output, (kernel,), channels, groups=2) == multiply_adds
    assert transposed_convolution((batch, 3, filters), (kernel,), channels) == convolution(output, (kernel,), channels)
    assert einsum("abc,cd->abd", (2, 5, 4), (4, 6)) == matrix_product(10, 4, 6)
    assert einsum("...c,cd->...d", (2, 5, 4), (4, 6)) == matrix_product(10, 4, 6)


def test_this_checkout_is_the_one_whose_reading_times_stand_beside_another_s() -> None:
    assert (reading_times.CHECKOUT / "tests" / "models" / "reading_times.py").is_file()


@pytest.fixture
def rows_of_nothing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No model is built or read; lists the rows that would be made."""
    made: list[str] = []

    def read(name: str, forms: list[str], *_: object) -> dict[str, dict[str, Json]]:
        made.extend(f"{name} {form}" for form in forms)
        return {form: {"refused": "not read", "seconds": 1.0} for form in forms}

    monkeypatch.setattr(table, "rows_of", read)
    return made


def test_a_second_run_makes_what_is_missing(tmp_path: Path, rows_of_nothing: list[str]) -> None:
    settings: dict[str, Json] = {"only": "gpt,lstm_40", "forms": SAVED_MODEL, "placed": False}
    table.run(tmp_path, lambda _: None, settings)
    assert rows_of_nothing == ["gpt saved_model", "lstm_40 saved_model"]
    text = table.run(tmp_path, lambda _: None, settings | {"only": "gpt,lstm_40,dlrm"})
    assert rows_of_nothing[2:] == ["dlrm saved_model"]
    assert set(json.loads((tmp_path / "results" / "models.json").read_text())) == {"gpt", "lstm_40", "dlrm"}
    assert text == (tmp_path / "models.md").read_text()
    assert (tmp_path / "models" / "files.md").read_text().count("| refused: not read |") == 2 * 3
    table.run(tmp_path, lambda _: None, settings | {"only": "gpt", "again": True})
    assert rows_of_nothing[3:] == ["gpt saved_model"]


def test_the_committed_tables_are_those_of_the_committed_rows() -> None:
    texts = pages(table.read_rows(ROOT / "docs" / table.RESULTS))
    assert sorted(texts) == ["models", "models/files", "models/placed"]
    for name in ("models/files", "models/placed"):
        assert (ROOT / "docs" / f"{name}.md").read_text() == texts[name]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"only": "gpt,gpt5"}, r"^only: 'gpt5'; allowed: resnet50, "),
        ({"forms": "onnx"}, r"^forms: 'onnx'; allowed: saved_model, "),
        ({"seeds": 3}, r"^--set: no setting seeds; allowed: only, forms"),
    ],
)
def test_a_setting_that_is_none_is_refused(tmp_path: Path, settings: dict[str, Json], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        table.run(tmp_path, lambda _: None, settings)


def test_the_command_lists_the_models_and_refuses_a_setting_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(name) for line, name in zip(lines, MODELS, strict=True))
    assert main(["--set", "seeds=3"]) == 2
    assert capsys.readouterr().err.startswith("--set: no setting seeds; allowed: only, forms")


def test_experiments_read_the_files_that_the_command_writes(tmp_path: Path) -> None:
    """Both say the same file names, and the options of the models that the experiments read."""
    for form, suffix in SUFFIXES.items():
        assert file_of("gpt", form, tmp_path).suffix == suffix
        with pytest.raises(SettingsError, match=rf"^gpt: .*python -m tests.models gpt --form {form} --out "):
            keras_file("gpt", form, tmp_path)
        file_of("gpt", form, tmp_path).touch()
        assert keras_file("gpt", form, tmp_path) == file_of("gpt", form, tmp_path)
    read = {*verdicts.KERAS, *(each.name for each in memory_peaks.GRAPHS if each.from_keras)}
    assert all(MODELS[name].options(form, {}) == OPTIONS for name in read for form in SUFFIXES)
