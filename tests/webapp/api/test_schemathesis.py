"""A few made-up requests to each operation; `python -m tests.api_fuzz --seconds 600` sends many."""

import pytest
from schemathesis import GenerationMode

from tests.api_fuzz.requests import MODES, attempt, operations
from tests.webapp.api.cast import Cast

pytestmark = pytest.mark.slow

EXAMPLES = 3


@pytest.mark.parametrize("mode", MODES)
def test_no_answer_is_a_server_error_or_undocumented(mode: GenerationMode, cast: Cast) -> None:
    counts: dict[int, int] = {}
    for operation in operations():
        for status, count in attempt(operation, mode, (cast.ended, cast.waiting), EXAMPLES, 0).items():
            counts[status] = counts.get(status, 0) + count
    assert counts and max(counts) < 500
