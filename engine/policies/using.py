"""The settings of a placer that begins from a policy."""

import dataclasses
from collections.abc import Mapping

from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.settings.learners import PUBLISHED

OF_THE_NETWORK = ("network", "message_rounds", "embedding_width", "hidden_width", "most_reachable_groups")
"""settings that belong to the weights and so come from the policy"""
OF_THE_MACHINE = ("torch_device", "torch_threads", "checkpoint_seconds")
"""settings of this machine, which a policy does not decide"""


def settings_with_policy(policy: TrainedPolicy, given: Mapping[str, Json]) -> PlacetoSettings:
    """The user's `given` settings, and those of `policy` for the rest. Raises SettingsError if the two conflict."""
    asked = make_settings(given)
    if asked.preset != policy.settings.preset:
        raise _refused("preset", asked.preset, f"{policy.settings.preset}, as in the policy, or no policy")
    if asked.prior != PUBLISHED:
        raise _refused("prior", asked.prior, f"{PUBLISHED}, or no policy: what a policy prefers is what it has learned")
    for name in OF_THE_NETWORK:
        value = getattr(policy.settings, name)
        if name in given and given[name] != value:
            raise _refused(name, given[name], f"{value}, as in the policy")
    if policy.settings.start == "nowhere" and asked.reward != "terminal" and "start" not in given:
        raise SettingsError(
            f"{asked.reward!r} with a policy whose episodes start from nowhere",
            where="reward",
            allowed="terminal, or one of the starts best, fastest_device, random",
            field="reward",
        )
    values: dict[str, Json] = dataclasses.asdict(policy.settings)
    return make_settings({name: value for name, value in values.items() if name not in OF_THE_MACHINE} | dict(given))


def on_this_machine(policy: TrainedPolicy, settings: PlacetoSettings) -> TrainedPolicy:
    """`policy` with the settings of this machine from `settings`: torch's device and threads, and checkpoints."""
    values = {name: getattr(settings, name) for name in OF_THE_MACHINE}
    return dataclasses.replace(policy, settings=dataclasses.replace(policy.settings, **values))


def _refused(name: str, value: Json, allowed: str) -> SettingsError:
    return SettingsError(f"{value!r} with a policy", where=name, allowed=allowed, field=name)
