"""Functions and calls of GraphDefs as text, beside `graph_texts.py`."""

from collections.abc import Mapping, Sequence

from tests.engine.costs.graph_texts import BOOL, FLOAT, INT32, constant, op, typed


def function(name: str, arguments: Mapping[str, str], results: Mapping[str, tuple[str, str]], *nodes: str) -> str:
    """A function: names of arguments → types, of results → types and tensors as `relu:activations:0`."""
    taken = " ".join(f'input_arg {{ name: "{key}" type: {dtype} }}' for key, dtype in arguments.items())
    given = " ".join(f'output_arg {{ name: "{key}" type: {dtype} }}' for key, (dtype, _) in results.items())
    returned = " ".join(f'ret {{ key: "{key}" value: "{tensor}" }}' for key, (_, tensor) in results.items())
    body = " ".join("".join(nodes).replace("node {", "node_def {").split("\n"))
    return f'function {{ signature {{ name: "{name}" {taken} {given} }} {body} {returned} }}\n'


def with_library(text: str) -> str:
    """The graph with its functions, wherever they are in `text`, in one library."""
    lines = text.splitlines()
    functions = [line for line in lines if line.startswith("function {")]
    others = [line for line in lines if not line.startswith("function {")]
    return "\n".join([*others, "library {", *functions, "}", "versions { producer: 1882 }"])


def types(*dtypes: str) -> str:
    """An attribute's text."""
    return f"list {{ {' '.join(f'type: {dtype}' for dtype in dtypes)} }}"


def named(name: str) -> str:
    """An attribute's text: a function."""
    return f'func {{ name: "{name}" }}'


def call(name: str, called: str, *inputs: str, taken: Sequence[str] = (FLOAT,), given: Sequence[str] = (FLOAT,)) -> str:
    """A call that stays one op."""
    return op(name, "PartitionedCall", *inputs, Tin=types(*taken), Tout=types(*given), f=named(called))


def relu(name: str, source: str) -> str:
    return op(name, "Relu", source, T=typed(FLOAT))


def relus(name: str, count: int, *, source: str = "x", then: str = "") -> str:
    """A function `y = Relu(Relu(… x))`."""
    nodes = [relu(f"r{index}", f"r{index - 1}:activations:0" if index else source) for index in range(count)]
    last = f"r{count - 1}:activations:0" if count else source
    return function(name, {"x": FLOAT}, {"y": (FLOAT, last)}, *nodes, then)


def condition(name: str, flag: str, *inputs: str, then_side: str, else_side: str) -> str:
    """An If on one float."""
    return op(
        name,
        "StatelessIf",
        flag,
        *inputs,
        Tcond=typed(BOOL),
        Tin=types(*[FLOAT] * len(inputs)),
        Tout=types(FLOAT),
        then_branch=named(then_side),
        else_branch=named(else_side),
        output_shapes="list { shape { unknown_rank: true } }",
    )


def case(name: str, index: str, source: str, *sides: str) -> str:
    branches = " ".join(f'func {{ name: "{side}" }}' for side in sides)
    return op(
        name, "StatelessCase", index, source, Tin=types(FLOAT), Tout=types(FLOAT), branches=f"list {{ {branches} }}"
    )


def counting(name: str, bound: int, *nodes: str, result: str = "r:activations:0") -> str:
    """A function that goes through `nodes`, of which one is called `r`, `bound` times; and what it is made of."""
    test = function(
        f"{name}_cond",
        {"i": INT32, "x": FLOAT},
        {"holds": (BOOL, "less:z:0")},
        constant("bound", bound),
        op("less", "Less", "i", "bound:output:0", T=typed(INT32)),
    )
    body = function(
        f"{name}_body",
        {"i": INT32, "x": FLOAT},
        {"more": (INT32, "more:z:0"), "y": (FLOAT, result)},
        constant("one", 1),
        op("more", "AddV2", "i", "one:output:0", T=typed(INT32)),
        *nodes,
    )
    whole = function(
        name,
        {"x": FLOAT},
        {"y": (FLOAT, "while:output:1")},
        constant("zero", 0),
        op(
            "while",
            "StatelessWhile",
            "zero:output:0",
            "x",
            T=types(INT32, FLOAT),
            cond=named(f"{name}_cond"),
            body=named(f"{name}_body"),
        ),
    )
    return test + body + whole
