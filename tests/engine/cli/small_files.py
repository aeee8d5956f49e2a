"""Files and words of the command line."""

import json

GRAPH = {
    "directed": True,
    "multigraph": False,
    "graph": {"name": "five"},
    "nodes": [
        {
            "id": f"op_{index}",
            "type": "MatMul",
            "time_us": 100 * (index + 1),
            "output_bytes": [1000],
            "persistent_bytes": 50,
        }
        for index in range(5)
    ],
    "edges": [{"source": f"op_{index}", "target": f"op_{index + 1}", "output": 0} for index in range(4)],
}
LEFT_TO_PEOPLE = "".join(f'node {{ name: "odd_{index:02}" op: "Odd" }} ' for index in range(12)) + (
    'node { name: "text" op: "Const" attr { key: "dtype" value { type: DT_STRING } } '
    'attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "a" } } } }'
)
SMALL_CLUSTER = json.dumps({"devices": [{"name": "/device:GPU:0", "kind": "K80", "memory_bytes": 100}]})
