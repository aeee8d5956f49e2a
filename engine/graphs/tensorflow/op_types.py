"""TensorFlow's op types and data types that several parts of the engine use, as sets and numbers."""

INVALID, RESOURCE, VARIANT = 0, 20, 21
"""numbers of DataType; 0 stands for an unknown type"""
HANDLES = frozenset({RESOURCE, VARIANT})
"""data types of values that stay on the device that makes them"""
REFS_FROM = 100
"""a ref's number is that of its base type plus this"""

INPUTS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
READS = "ReadVariableOp"

ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
MERGES = frozenset({"Merge", "RefMerge"})
SWITCHES = frozenset({"Switch", "RefSwitch"})
NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})

FUNCTION_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
IFS = frozenset({"If", "StatelessIf"})
CASES = frozenset({"Case", "StatelessCase"})
LOOPS = frozenset({"While", "StatelessWhile"})
FUNCTIONAL_CONTROL_FLOW = IFS | CASES | LOOPS
"""conditions and loops as one op, whose sides and bodies are functions"""
RUN_FUNCTIONS = FUNCTION_CALLS | FUNCTIONAL_CONTROL_FLOW
"""ops that run functions of the graph's library"""
