"""TensorFlow's op types and data types that several parts of the engine ask about, as sets and numbers."""

INVALID, RESOURCE, VARIANT = 0, 20, 21
"""numbers of DataType; 0 stands for one that is not known"""
HANDLES = frozenset({RESOURCE, VARIANT})
"""of values that stay where they are made"""
REFS_FROM = 100
"""a ref's number is its type's plus this"""

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
