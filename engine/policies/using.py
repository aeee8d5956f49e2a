"""What a policy means for the settings of the placer that goes on from it."""

import dataclasses
from collections.abc import Mapping

from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.policies.trained_policy import TrainedPolicy

OF_THE_NETWORK = ("network", "message_rounds", "embedding_width", "hidden_width", "most_reachable_groups")
"""settings that the weights were trained for: they come from the policy"""
OF_THE_MACHINE = ("torch_device", "torch_threads", "checkpoint_seconds")
"""settings that a policy from elsewhere does not decide"""


def settings_with_policy(policy: TrainedPolicy, given: Mapping[str, Json]) -> PlacetoSettings:
    """The user's `given` settings over those of `policy`. Raises SettingsError where the two cannot go together."""
    asked = make_settings(given)
    if asked.preset != policy.settings.preset:
        raise _refused("preset", asked.preset, f"{policy.settings.preset}, as in the policy, or no policy")
    for name in OF_THE_NETWORK:
        value = getattr(policy.settings, name)
        if name in given and given[name] != value:
            raise _refused(name, given[name], f"{value}, as in the policy")
    if policy.settings.start == "nowhere" and asked.reward != "terminal" and "start" not in given:
        raise SettingsError(
            f"{asked.reward!r} with a policy whose episodes start from nowhere",
            where="reward",
            allowed="terminal, or a start too: best, fastest_device, random",
            field="reward",
        )
    values: dict[str, Json] = dataclasses.asdict(policy.settings)
    return make_settings({name: value for name, value in values.items() if name not in OF_THE_MACHINE} | dict(given))


def on_this_machine(policy: TrainedPolicy, settings: PlacetoSettings) -> TrainedPolicy:
    """`policy` with those of `settings` that say where and with how many threads its network runs."""
    values = {name: getattr(settings, name) for name in OF_THE_MACHINE}
    return dataclasses.replace(policy, settings=dataclasses.replace(policy.settings, **values))


def _refused(name: str, value: Json, allowed: str) -> SettingsError:
    return SettingsError(f"{value!r} with a policy", where=name, allowed=allowed, field=name)
