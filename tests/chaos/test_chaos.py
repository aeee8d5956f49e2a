"""A small part of `python -m tests.chaos`: one kill of each part that a run needs."""

import random
from pathlib import Path

from tests.chaos.jobs import run_kind, upload_kind
from tests.chaos.material import make_material, node_link
from tests.chaos.site import Site
from tests.chaos.storm import UPLOAD, Storm

KILLED = ("gpu pool child", UPLOAD, "gpu worker", "redis")


def test_a_run_and_an_upload_outlive_a_kill_of_every_part(tmp_path: Path) -> None:
    random.seed(0)
    site = Site(tmp_path, {"PLACETO_HEARTBEAT_SECONDS": "0.5"})
    try:
        site.start()
        material = make_material(site.visitor, "tree.json", node_link(60), ops_of_the_upload=2000)
        jobs = [run_kind("placeto", "placeto", 300, seed=1), upload_kind()]
        storm = Storm(site, material, jobs, print, longest_pause_seconds=1.0)
        storm.learn_answers()
        storm.kill(KILLED)
        storm.finish()
    finally:
        site.end()

    assert [kill.part for kill in storm.kills] == list(KILLED)
    assert [ended.faults for ended in storm.ended.values()] == [[], []]
    assert all(ended.whole > 0 for ended in storm.ended.values())
    assert site.left_uploads() == []
