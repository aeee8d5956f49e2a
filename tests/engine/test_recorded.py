"""No change of structure changes what a method says: the digests of recorded streams."""

import json

from tests.engine.recorded import RECORDED, digest, is_of_a_library, streams


def test_every_method_says_what_it_said() -> None:
    found = {name: digest(stream) for name, stream in streams(lambda name: not is_of_a_library(name))}
    assert found == json.loads(RECORDED.read_text())
