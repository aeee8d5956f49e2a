"""Well-known models as ONNX, built layer by layer at any size."""

from onnx import ModelProto, TensorProto, helper

from tests.engine.onnx.building import RUNTIME, Builder

RESNET_50 = (3, 4, 6, 3)


def resnet(
    blocks: tuple[int, ...] = RESNET_50, width: int = 64, classes: int = 1000, seed: int | None = None
) -> ModelProto:
    """A residual network of bottlenecks with batch normalizations, for pictures of [batch, 3, height, width]."""
    model = Builder(seed)
    image = model.input("images", ["batch", 3, 224, 224] if seed is None else ["batch", 3, 32, 32])

    def convolved(data: str, inner: int, outer: int, size: int, stride: int = 1) -> str:
        weight = model.weight(outer, inner, size, size, name="conv/weight")
        pads = [size // 2] * 4
        data = model.node("Conv", data, weight, name="conv/Conv", pads=pads, strides=[stride, stride])
        moments = [model.weight(outer, name=f"bn/{name}") for name in ("weight", "bias", "mean")]
        variance = (
            model.node("Abs", model.weight(outer, name="bn/variance"), name="bn/Abs") if seed is not None else None
        )
        moments.append(variance or model.weight(outer, name="bn/variance"))
        return model.node("BatchNormalization", data, *moments, name="bn/BatchNormalization")

    model.scope = "/stem/"
    data = model.node("Relu", convolved(image, 3, width, 7, 2))
    data = model.node("MaxPool", data, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    inner = width
    for stage, count in enumerate(blocks):
        narrow = width * 2**stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            model.scope = f"/layer{stage + 1}/{block}/"
            kept = data
            for number, (before, after, size, each) in enumerate(
                [(inner, narrow, 1, 1), (narrow, narrow, 3, stride), (narrow, 4 * narrow, 1, 1)]
            ):
                data = convolved(data, before, after, size, each)
                data = model.node("Relu", data) if number < 2 else data
            if not block:
                model.scope += "downsample/"
                kept = convolved(kept, inner, 4 * narrow, 1, stride)
                model.scope = f"/layer{stage + 1}/{block}/"
            data = model.node("Relu", model.node("Add", data, kept))
            inner = 4 * narrow
    model.scope = "/head/"
    data = model.node("Flatten", model.node("GlobalAveragePool", data))
    weight, bias = model.weight(classes, inner), model.weight(classes, name="bias")
    return model.model(model.node("Gemm", data, weight, bias, transB=1))


def bert(
    layers: int = 12, hidden: int = 768, heads: int = 12, words: int = 30522, seed: int | None = None
) -> ModelProto:
    """An encoder with its pooler, of ops as an exporter writes them: shapes are computed beside the data."""
    model = Builder(seed)
    tokens = model.input("input_ids", ["batch", "sequence"], TensorProto.INT64)
    types = model.input("token_type_ids", ["batch", "sequence"], TensorProto.INT64)
    model.scope = "/embeddings/"
    shape = model.node("Shape", tokens)
    length = model.node("Slice", shape, model.integers([1]), model.integers([2]))
    places = model.node("Slice", _positions(model, 512), model.integers([0]), length, model.integers([0]))
    rows = model.node("Gather", model.weight(words, hidden, name="word/weight"), tokens)
    rows = model.node("Add", rows, model.node("Gather", model.weight(2, hidden, name="type/weight"), types))
    rows = model.node("Add", rows, model.node("Gather", model.weight(512, hidden, name="position/weight"), places))
    data = _normalized(model, rows, hidden)
    for layer in range(layers):
        model.scope = f"/encoder/layer.{layer}/attention/"
        split = model.node("Concat", shape, model.integers([heads, hidden // heads]), axis=0)
        query, key, value = (
            model.node("Transpose", model.node("Reshape", _linear(model, data, hidden, hidden), split), perm=perm)
            for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        scores = model.node("Softmax", model.node("MatMul", query, key), axis=-1)
        mixed = model.node("Transpose", model.node("MatMul", scores, value), perm=[0, 2, 1, 3])
        joined = model.node("Reshape", mixed, model.integers([0, 0, hidden]))
        data = _normalized(model, model.node("Add", data, _linear(model, joined, hidden, hidden)), hidden)
        model.scope = f"/encoder/layer.{layer}/output/"
        wide = model.node("Erf", _linear(model, data, hidden, 4 * hidden))
        data = _normalized(model, model.node("Add", data, _linear(model, wide, 4 * hidden, hidden)), hidden)
    model.scope = "/pooler/"
    first = model.node("Gather", data, _scalar(model, 0), axis=1)
    return model.model(data, model.node("Tanh", _linear(model, first, hidden, hidden)))


def decoder(
    layers: int = 12, hidden: int = 768, heads: int = 12, words: int = 50257, most: int = 1024, seed: int | None = None
) -> ModelProto:
    """A GPT-2 with a cache of keys and values, whose head shares the weights of its embedding."""
    model = Builder(seed)
    tokens = model.input("input_ids", ["batch", "new"], TensorProto.INT64)
    places = model.input("position_ids", ["batch", "new"], TensorProto.INT64)
    table = model.weight(words, hidden, name="wte")
    rows = model.node("Gather", table, tokens, name="/wte/Gather")
    data = model.node("Add", rows, model.node("Gather", model.weight(most, hidden, name="wpe"), places))
    caches = []
    for layer in range(layers):
        model.scope = f"/h.{layer}/attn/"
        past = [
            model.input(f"past.{layer}.{name}", ["batch", heads, "past", hidden // heads]) for name in ("key", "value")
        ]
        mixed = _linear(model, _normalized(model, data, hidden), hidden, 3 * hidden)
        split = model.node("Split", mixed, outputs=3, axis=2)
        lengths = model.integers([0, 0, heads, hidden // heads])
        parts = [
            model.node("Transpose", model.node("Reshape", f"{split[:-1]}{part}", lengths), perm=[0, 2, 1, 3])
            for part in range(3)
        ]
        key, value = (model.node("Concat", old, new, axis=2) for old, new in zip(past, parts[1:], strict=True))
        caches += [key, value]
        scores = model.node("MatMul", parts[0], model.node("Transpose", key, perm=[0, 1, 3, 2]))
        mixed = model.node("MatMul", model.node("Softmax", scores, axis=-1), value)
        joined = model.node(
            "Reshape", model.node("Transpose", mixed, perm=[0, 2, 1, 3]), model.integers([0, 0, hidden])
        )
        data = model.node("Add", data, _linear(model, joined, hidden, hidden))
        model.scope = f"/h.{layer}/mlp/"
        wide = model.node("Tanh", _linear(model, _normalized(model, data, hidden), hidden, 4 * hidden))
        data = model.node("Add", data, _linear(model, wide, 4 * hidden, hidden))
    model.scope = ""
    last = _normalized(model, data, hidden)
    logits = model.node(
        "MatMul", last, model.node("Transpose", table, name="/lm_head/Transpose"), name="/lm_head/MatMul"
    )
    return model.model(logits, *caches)


def fused_bert(layers: int = 12, hidden: int = 768, heads: int = 12, words: int = 30522) -> ModelProto:
    """The encoder as ONNX Runtime's optimizer writes it."""
    model = Builder()
    tokens = model.input("input_ids", ["batch", "sequence"], TensorProto.INT32)
    types = model.input("token_type_ids", ["batch", "sequence"], TensorProto.INT32)
    tables = [model.weight(rows, hidden) for rows in (words, 512, 2)]
    data = model.node(
        "EmbedLayerNormalization",
        tokens,
        types,
        *tables,
        model.weight(hidden),
        model.weight(hidden),
        outputs=2,
        domain=RUNTIME,
    )
    for layer in range(layers):
        model.scope = f"/encoder/layer.{layer}/"
        weight, bias = model.weight(hidden, 3 * hidden), model.weight(3 * hidden)
        mixed = model.node("Attention", data, weight, bias, domain=RUNTIME, num_heads=heads)
        mixed = model.node("MatMul", mixed, model.weight(hidden, hidden))
        data = _skipped(model, mixed, data, hidden)
        wide = model.node("MatMul", data, model.weight(hidden, 4 * hidden))
        wide = model.node("FastGelu", wide, model.weight(4 * hidden), domain=RUNTIME)
        data = _skipped(model, model.node("MatMul", wide, model.weight(4 * hidden, hidden)), data, hidden)
    return model.model(data, opsets={"": 17, RUNTIME: 1})


def branches() -> ModelProto:
    """An If that takes its values from outside, and a Loop that adds up; one of each is not named."""
    model = Builder(0)
    data = model.input("data", ["rows", 4])
    flag = model.input("flag", [], TensorProto.BOOL)
    sides = []
    for name, op_type in (("then", "Relu"), ("else", "Neg")):
        node = helper.make_node(op_type, [data], [f"{name}_out"], name="same")
        sides.append(helper.make_graph([node], name, [], [helper.make_empty_tensor_value_info(f"{name}_out")]))
    chosen = model.node("If", flag, then_branch=sides[0], else_branch=sides[1])
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "step"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("MatMul", ["next", "weight"], ["row"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("trip", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["rows", 4]),
        ],
        [helper.make_empty_tensor_value_info(name) for name in ("on", "next", "row")],
    )
    model.weight(4, 4)
    step = model.node("Tanh", data, name="step")
    body.node[0].input[1] = step
    trips = model.integers([3])
    done = model.node("Loop", trips, "", chosen, outputs=2, body=body)
    return model.model(model.node("Sqrt", model.node("Abs", done)), f"{done[:-1]}1")


def _skipped(model: Builder, data: str, kept: str, hidden: int) -> str:
    weights = [model.weight(hidden) for _ in range(3)]
    return model.node("SkipLayerNormalization", data, kept, *weights, domain=RUNTIME)


def _linear(model: Builder, data: str, inner: int, outer: int) -> str:
    product = model.node("MatMul", data, model.weight(inner, outer))
    return model.node("Add", model.weight(outer, name="bias"), product)


def _normalized(model: Builder, data: str, hidden: int) -> str:
    weights = model.weight(hidden, name="norm/weight"), model.weight(hidden, name="norm/bias")
    return model.node("LayerNormalization", data, *weights, name="norm/LayerNormalization", axis=-1)


def _positions(model: Builder, count: int) -> str:
    return model.integers(list(range(count)), name="positions")


def _scalar(model: Builder, number: int) -> str:
    return model.node("Squeeze", model.integers([number]))
