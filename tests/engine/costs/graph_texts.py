"""GraphDefs as text, for estimates: ops in a line each, and while loops in their lowered form."""

from collections.abc import Sequence

INT32, INT64, FLOAT, BOOL = "DT_INT32", "DT_INT64", "DT_FLOAT", "DT_BOOL"
VARIANT, STRING = "DT_VARIANT", "DT_STRING"
VALUE_FIELDS = {INT32: "int_val", INT64: "int64_val", FLOAT: "float_val", BOOL: "bool_val"}


def op(name: str, op_type: str, *inputs: str, **attributes: str) -> str:
    """A node; an attribute's text is `type: DT_FLOAT`, `i: 3`, `b: true` and so on."""
    taken = "".join(f' input: "{text}"' for text in inputs)
    held = "".join(f' attr {{ key: "{key}" value {{ {text} }} }}' for key, text in attributes.items())
    return f'node {{ name: "{name}" op: "{op_type}"{taken}{held} }}\n'


def typed(dtype: str) -> str:
    """An attribute's text."""
    return f"type: {dtype}"


def shaped(*lengths: int) -> str:
    """An attribute's text."""
    return f"shape {{ {' '.join(f'dim {{ size: {length} }}' for length in lengths)} }}"


def constant(name: str, values: "Sequence[float] | float | str", dtype: str = INT32) -> str:
    """A Const: a scalar, or a vector."""
    is_vector = isinstance(values, list | tuple)
    numbers = values if isinstance(values, list | tuple) else [values]
    lengths = f"dim {{ size: {len(numbers)} }}" if is_vector else ""
    held = " ".join(f"{VALUE_FIELDS[dtype]}: {number}" for number in numbers)
    tensor = f"tensor {{ dtype: {dtype} tensor_shape {{ {lengths} }} {held} }}"
    return op(name, "Const", dtype=typed(dtype), value=tensor)


def placeholder(name: str, *lengths: int, dtype: str = FLOAT) -> str:
    """An input."""
    return op(name, "Placeholder", dtype=typed(dtype), shape=shaped(*lengths))


def variable_of_loop(name: str, frame: str, start: str, after: str, dtype: str) -> str:
    """`NAME` is what it holds in a trip; `NAME_out` what it holds in the end."""
    kind = typed(dtype)
    return (
        op(f"{name}_enter", "Enter", start, T=kind, frame_name=f's: "{frame}"')
        + op(f"{name}_merge", "Merge", f"{name}_enter", f"{name}_next", T=kind, N="i: 2")
        + op(f"{name}_switch", "Switch", f"{name}_merge", f"{frame}_holds", T=kind)
        + op(name, "Identity", f"{name}_switch:1", T=kind)
        + op(f"{name}_next", "NextIteration", after, T=kind)
        + op(f"{name}_out", "Exit", f"{name}_switch", T=kind)
    )


def loop(
    frame: str,
    test: str,
    *,
    start: float | str = 0,
    bound: float | str = 10,
    step: float | str = 1,
    dtype: str = INT32,
    data: str = "data",
) -> str:
    """`while i TEST bound: data = Relu(data); i += step`, on a tensor `data` that is there."""
    return (
        constant(f"{frame}_start", start, dtype)
        + constant(f"{frame}_bound", bound, dtype)
        + constant(f"{frame}_step", step, dtype)
        + variable_of_loop(f"{frame}_i", frame, f"{frame}_start", f"{frame}_more", dtype)
        + op(
            f"{frame}_bound_enter",
            "Enter",
            f"{frame}_bound",
            T=typed(dtype),
            frame_name=f's: "{frame}"',
            is_constant="b: true",
        )
        + op(
            f"{frame}_step_enter",
            "Enter",
            f"{frame}_step",
            T=typed(dtype),
            frame_name=f's: "{frame}"',
            is_constant="b: true",
        )
        + op(f"{frame}_test", test, f"{frame}_i_merge", f"{frame}_bound_enter", T=typed(dtype))
        + op(f"{frame}_holds", "LoopCond", f"{frame}_test")
        + op(f"{frame}_more", "AddV2", f"{frame}_i", f"{frame}_step_enter", T=typed(dtype))
        + variable_of_loop(f"{frame}_data", frame, data, f"{frame}_relu", FLOAT)
        + op(f"{frame}_relu", "Relu", f"{frame}_data", T=typed(FLOAT))
    )
