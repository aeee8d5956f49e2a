"""Small graphs to run, as text GraphDefs: each row of the tables in `test_what_is_run.py`."""


def node(name: str, op: str, *inputs: str, **attributes: str) -> str:
    """A node; each attribute is an AttrValue as text."""
    texts = [f'node {{ name: "{name}" op: "{op}"', *(f'input: "{each}"' for each in inputs)]
    texts += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attributes.items()]
    return " ".join(texts) + " }\n"


def shape(*lengths: int) -> str:
    return f"shape {{ {' '.join(f'dim {{ size: {length} }}' for length in lengths)} }}"


FLOAT, INT, TEXT, RESOURCE = "type: DT_FLOAT", "type: DT_INT32", "type: DT_STRING", "type: DT_RESOURCE"


def placeholder(name: str, *lengths: int, dtype: str = FLOAT) -> str:
    return node(name, "Placeholder", dtype=dtype, shape=shape(*lengths))


def words(name: str, value: str) -> str:
    """A constant text."""
    return node(
        name, "Const", dtype=TEXT, value=f'tensor {{ dtype: DT_STRING tensor_shape {{ }} string_val: "{value}" }}'
    )


def number(name: str, value: float = 1.0) -> str:
    """A constant number."""
    return node(name, "Const", dtype=FLOAT, value=f"tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {value} }}")


def relu(name: str, source: str) -> str:
    return node(name, "Relu", source, T=FLOAT)


def variable(name: str, *lengths: int) -> str:
    """A ref variable."""
    return node(name, "VariableV2", dtype=FLOAT, shape=shape(*lengths), container='s: ""', shared_name='s: ""')


_TRUE = "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }"
ENDLESS = (
    number("zero", 0.0)
    + node("enter", "Enter", "zero", T=FLOAT, frame_name='s: "loop"')
    + node("merge", "Merge", "enter", "next", T=FLOAT, N="i: 2")
    + node("true", "Const", "^merge", dtype="type: DT_BOOL", value=_TRUE)
    + node("condition", "LoopCond", "true")
    + node("switch", "Switch", "merge", "condition", T=FLOAT)
    + node("body", "Identity", "switch:1", T=FLOAT)
    + node("next", "NextIteration", "body", T=FLOAT)
    + node("exit", "Exit", "switch", T=FLOAT)
)
"""a loop whose condition is always true"""
