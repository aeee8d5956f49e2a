"""Settings check themselves, presets are the published values, and torch is not loaded to check them."""

import subprocess
import sys

import pytest

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.placers.registry import make_placer, settings_of
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.settings.making import presets_of

HUGE = 10**400
"""more than a float can hold"""
HUGE_WORDS = shortened(str(HUGE))

REFUSED: list[tuple[dict[str, Json], str, str]] = [
    ({"preset": "slow"}, "preset", "preset: 'slow'; allowed: fast, paper"),
    ({"preset": None}, "preset", "preset: None; allowed: fast, paper"),
    ({"learning_rate": float("nan")}, "learning_rate", "learning_rate: nan; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": float("inf")}, "learning_rate", "learning_rate: inf; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": HUGE}, "learning_rate", f"learning_rate: {HUGE_WORDS}; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": -0.1}, "learning_rate", "learning_rate: -0.1; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": "fast"}, "learning_rate", "learning_rate: 'fast'; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": True}, "learning_rate", "learning_rate: True; allowed: a number from 1e-09 to 1"),
    ({"batch_episodes": 0}, "batch_episodes", "batch_episodes: 0; allowed: an integer from 1 to 4096"),
    ({"batch_episodes": 2.5}, "batch_episodes", "batch_episodes: 2.5; allowed: an integer from 1 to 4096"),
    ({"batch_episodes": True}, "batch_episodes", "batch_episodes: True; allowed: an integer from 1 to 4096"),
    ({"epochs": [1]}, "epochs", "epochs: [1]; allowed: an integer from 1 to 100"),
    ({"reward": "none"}, "reward", "reward: 'none'; allowed: terminal, intermediate"),
    (
        {"network": {}},
        "network",
        "network: {}; allowed: shared_head, published, simple_partitioner, simple_aggregator",
    ),
    (
        {"traversal": "fixed"},
        "traversal",
        "traversal: 'fixed'; allowed: topological, reversed, least_urgent_first, random_topological, random, "
        "mixed, fixed_random",
    ),
    ({"traversal_seed": -1}, "traversal_seed", "traversal_seed: -1; allowed: an integer from 0 to 4294967295"),
    ({"sum_over_decisions": 1}, "sum_over_decisions", "sum_over_decisions: 1; allowed: true, false"),
    ({"torch_device": "tpu"}, "torch_device", "torch_device: 'tpu'; allowed: auto, cpu, cuda"),
    ({"normalise_advantages": 1}, "normalise_advantages", "normalise_advantages: 1; allowed: true, false"),
]


@pytest.mark.parametrize(("settings", "field", "message"), REFUSED)
def test_a_bad_setting_is_refused_at_its_field(settings: dict[str, Json], field: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("placeto", settings)
    assert str(caught.value) == message
    assert caught.value.field == field


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError) as caught:
        make_settings({"speed": 1})
    assert str(caught.value).startswith("settings: placeto has no setting 'speed'; allowed: preset, network, ")


def test_the_preset_fast_is_the_defaults() -> None:
    assert make_settings({}) == make_settings({"preset": "fast"}) == PlacetoSettings()


def test_the_preset_paper_has_the_published_values() -> None:
    settings = make_settings({"preset": "paper"})
    assert (settings.message_rounds, settings.passes, settings.return_baseline_episodes) == (8, 1, 10 * 8)
    assert (settings.learning_rate, settings.learning_rate_end, settings.gradient_norm) == (1e-3, 1e-4, 1.25)
    assert (settings.entropy_weight, settings.epochs, settings.exploration) == (1.0, 1, 0.0)
    assert (settings.memory_penalty, settings.penalised_cap, settings.reward_unit) == (2.0, 10.0, "second")
    assert (settings.network, settings.reward) == ("published", "intermediate")
    assert settings.sum_over_decisions and settings.start_time_feature and not settings.normalise_advantages
    assert 4 <= settings.batch_episodes <= 8


def test_a_setting_stands_over_its_preset() -> None:
    settings = make_settings({"preset": "paper", "reward": "terminal"})
    assert (settings.reward, settings.network) == ("terminal", "published")


def test_stored_settings_make_the_same_settings() -> None:
    for preset in presets_of(PlacetoSettings):
        stored = settings_of(make_placer("placeto", {"preset": preset, "epochs": 3}))
        assert make_settings(stored) == make_settings({"preset": preset, "epochs": 3})


@pytest.mark.slow
def test_checking_settings_loads_no_torch() -> None:
    code = (
        "import sys; from engine.placers.registry import make_placer; make_placer('placeto', {'preset': 'paper'});"
        "sys.exit(any(name in sys.modules for name in ('torch', 'torch_geometric', 'tensorflow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
