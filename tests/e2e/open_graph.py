"""A graph whose file leaves open what only a person can say: the batch size, and how often its loop runs."""

INT = "type: DT_INT32"
OF_INT = ' attr { key: "T" value { type: DT_INT32 } }'
OF_FLOAT = ' attr { key: "T" value { type: DT_FLOAT } }'
IN_FRAME = ' attr { key: "frame_name" value { s: "rnn/while" } } attr { key: "is_constant" value { b: %s } }'
FRAME = OF_INT + IN_FRAME


def _node(name: str, op: str, inputs: tuple[str, ...] = (), attributes: str = OF_INT) -> str:
    listed = " ".join(f'input: "{each}"' for each in inputs)
    return f'node {{ name: "{name}" op: "{op}" {listed}{attributes} }}\n'


def _dtype(words: str) -> str:
    return f' attr {{ key: "dtype" value {{ {words} }} }}'


def _shape(*lengths: int) -> str:
    dimensions = " ".join(f"dim {{ size: {length} }}" for length in lengths)
    return f' attr {{ key: "shape" value {{ shape {{ {dimensions} }} }} }}'


def _constant(number: int) -> str:
    return _dtype(INT) + (
        f' attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {number} }} }} }}'
    )


OPEN_GRAPH = "".join(
    (
        _node("images", "Placeholder", (), _dtype("type: DT_FLOAT") + _shape(-1, 784)),
        _node("weights", "VariableV2", (), _dtype("type: DT_FLOAT") + _shape(784, 10)),
        _node("scores", "MatMul", ("images", "weights"), OF_FLOAT),
        _node("steps", "Placeholder", (), _dtype(INT) + _shape()),
        _node("zero", "Const", (), _constant(0)),
        _node("one", "Const", (), _constant(1)),
        _node("rnn/enter", "Enter", ("zero",), FRAME % "false"),
        _node("rnn/steps", "Enter", ("steps",), FRAME % "true"),
        _node("rnn/one", "Enter", ("one",), FRAME % "true"),
        _node("rnn/merge", "Merge", ("rnn/enter", "rnn/next"), OF_INT + ' attr { key: "N" value { i: 2 } }'),
        _node("rnn/less", "Less", ("rnn/merge", "rnn/steps")),
        _node("rnn/condition", "LoopCond", ("rnn/less",), ""),
        _node("rnn/switch", "Switch", ("rnn/merge", "rnn/condition")),
        _node("rnn/add", "AddV2", ("rnn/switch:1", "rnn/one")),
        _node("rnn/next", "NextIteration", ("rnn/add",)),
        _node("rnn/exit", "Exit", ("rnn/switch",)),
        _node("state", "VariableV2", (), _dtype("type: DT_FLOAT") + _shape(1000)),
        _node("rnn/state", "Enter", ("state",), OF_FLOAT + IN_FRAME % "false"),
        _node("rnn/held", "Merge", ("rnn/state", "rnn/after"), OF_FLOAT + ' attr { key: "N" value { i: 2 } }'),
        _node("rnn/body", "Switch", ("rnn/held", "rnn/condition"), OF_FLOAT),
        _node("rnn/doubled", "AddV2", ("rnn/body:1", "rnn/body:1"), OF_FLOAT),
        _node("rnn/after", "NextIteration", ("rnn/doubled",), OF_FLOAT),
        _node("rnn/last", "Exit", ("rnn/body",), OF_FLOAT),
        "versions { producer: 1087 }\n",
    )
)
"""as GraphDef text"""
