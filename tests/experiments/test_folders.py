"""Work that children do is found by the next call: its folders do not depend on where a process is."""

from pathlib import Path

from experiments import fidelity, leveled, own_best, rnn_paper
from experiments.folders import CACHE, ROOT, below_root
from experiments.keeping.yardstick import YARDSTICK
from experiments.policies.making import policy_path
from experiments.policies.scope import ExperimentScope
from experiments.published import trainings
from tests.models import table


def test_all_folders_of_work_are_whole_paths(tmp_path: Path) -> None:
    scope = ExperimentScope()
    kept = [policy_path(scope, ("nmt",), 0)]
    kept += [module.WORK for module in (fidelity, leveled, own_best, table, trainings)] + [rnn_paper.STATES]
    assert all(path.is_relative_to(CACHE) for path in kept)
    assert below_root(scope.yardstick) == YARDSTICK
    assert (ROOT / "engine").is_dir()
    assert below_root(str(tmp_path)) == tmp_path


def test_no_experiment_names_a_folder_from_where_it_is_called() -> None:
    sources = {path: path.read_text() for path in (ROOT / "experiments").rglob("*.py") if path.name != "folders.py"}
    assert [str(path) for path, text in sources.items() if 'Path(".cache' in text or "Path(scope." in text] == []
