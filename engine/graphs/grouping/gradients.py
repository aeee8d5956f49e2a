"""Keep gradients with their forward op: the co-location that TensorFlow offers as `colocate_gradients_with_ops`.

A gradient op takes tensors that its forward op computed; on another device they would be sent there. A search over
placements does not learn by itself that the two halves of a layer should move together, and so they are one unit
from the start, unless that makes it too heavy. Source: A. Mirhoseini et al., ICML 2017, section 3.1.

A gradient's forward op follows from the names that TensorFlow gives:

- `tf.gradients` puts the gradient of op X below `gradients/X_grad/`, itself perhaps below other scopes;
- `GradientTape` puts it below `gradient_tape/X/`.

A second gradient in the same scope has a number: `gradients_1`, `X_grad_1`. Without such names nothing is joined.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import DisjointSets

NO_OP = -1
MOST_CANDIDATES = 16
"""readings tried of one name, which is untrusted text"""

_SCOPE = re.compile(r"(?:^|/)gradients(?:_[0-9]+)?/")
_END_OF_FORWARD_NAME = re.compile(r"_grad(?:_[0-9]+)?(?=/)")
_TAPE = re.compile(r"(?:^|/)gradient_tape(?:_[0-9]+)?/")
_EITHER = re.compile(r"(?:^|/)gradient(?:s|_tape)(?:_[0-9]+)?/")
_IN_ALL = "gradient"
"""in every such name; to look for it is quicker than a pattern"""


def forward_ops(op_names: Sequence[str]) -> NDArray[np.int64]:
    """[ops] the op whose gradient an op helps to compute, or `NO_OP`."""
    index_of_name = {name: op for op, name in enumerate(op_names)}
    return np.array([_forward_op(name, index_of_name) for name in op_names], dtype=np.int64)


def are_gradients(op_names: Sequence[str]) -> NDArray[np.bool_]:
    """[ops] whether an op's name marks it as part of the backward pass."""
    return np.array([_IN_ALL in name and _EITHER.search(name) is not None for name in op_names])


def _forward_op(name: str, index_of_name: Mapping[str, int]) -> int:
    if _IN_ALL not in name:
        return NO_OP
    for _, candidate in zip(range(MOST_CANDIDATES), _candidates(name), strict=False):
        if candidate in index_of_name:
            return index_of_name[candidate]
    return NO_OP


def _candidates(name: str) -> Iterator[str]:
    """Candidates for the forward op's name, the likeliest first."""
    for scope in _SCOPE.finditer(name):
        for end in _END_OF_FORWARD_NAME.finditer(name, scope.end()):
            yield name[scope.end() : end.start()]
    for scope in _TAPE.finditer(name):
        forward = name[scope.end() :].rpartition("/")[0]
        while forward:
            yield forward
            forward = forward.rpartition("/")[0]


def join_gradients(
    class_of_op: NDArray[np.int32],
    forward_of_op: NDArray[np.int64],
    order: NDArray[np.int64],
    weight: NDArray[np.int64],
    site: NDArray[np.int64],
    most_weight: int,
    within: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """[ops] the classes after each gradient op's class, in `order` [ops], has joined the class of its forward op.

    `weight` and `site` [classes]: only classes of one site are joined. Without its heaviest part no joined class weighs
    more than `most_weight`. With `within` [ops], classes joined before with a larger bound, only what those have
    together is joined. The order of the classes is lost and must be made anew.
    """
    sets = DisjointSets(len(weight))
    total, heaviest = weight.tolist(), weight.tolist()
    joining = forward_of_op != NO_OP
    if within is not None:
        joining &= within == within[forward_of_op]
    for op in order[joining[order]].tolist():
        one, other = sets.find(int(class_of_op[op])), sets.find(int(class_of_op[forward_of_op[op]]))
        joined, top = total[one] + total[other], max(heaviest[one], heaviest[other])
        if one != other and site[one] == site[other] and joined - top <= most_weight:
            sets.unite(one, other)
            root = sets.find(one)
            total[root], heaviest[root] = joined, top
    return sets.numbered()[class_of_op]
