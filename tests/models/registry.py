"""The models of the suite, by name."""

from tests.models.model import OF_INFERENCE, OF_TF1, OF_TRAINING, SAVED_MODEL, WITH_SHAPES, SuiteModel

MODELS: dict[str, SuiteModel] = {
    "resnet50": SuiteModel("ResNet50 of keras.applications", "applications:resnet50"),
    "densenet121": SuiteModel("DenseNet121 of keras.applications", "applications:densenet121"),
    "xception": SuiteModel("Xception of keras.applications", "applications:xception", forms=OF_INFERENCE),
    "efficientnet_v2_b0": SuiteModel("EfficientNetV2B0 of keras.applications", "applications:efficientnet_v2_b0"),
    "convnext_tiny": SuiteModel("ConvNeXtTiny of keras.applications", "applications:convnext_tiny", forms=OF_INFERENCE),
    "mobilenet_v2": SuiteModel(
        "MobileNetV2 of keras.applications: depthwise", "applications:mobilenet_v2", forms=OF_INFERENCE
    ),
    "resnext": SuiteModel("ResNeXt-like: grouped convolutions", "convolutional:resnext", forms=OF_INFERENCE),
    "video": SuiteModel("3-D convolutions, one of them transposed", "convolutional:video", forms=OF_INFERENCE),
    "unet": SuiteModel("U-Net: transposed convolutions", "convolutional:unet", forms=OF_INFERENCE),
    "wavenet": SuiteModel("WaveNet: dilated causal convolutions", "convolutional:wavenet", forms=OF_INFERENCE),
    "keywords": SuiteModel(
        "short-time Fourier transform, separable 1-D convolutions", "convolutional:keywords", forms=OF_INFERENCE
    ),
    "retinanet": SuiteModel(
        "RetinaNet-like: pyramid, heads, non-maximum suppression", "convolutional:retinanet", forms=OF_INFERENCE
    ),
    "gpt": SuiteModel("GPT-like, 3 layers: causal attention", "transformers:gpt", forms=OF_INFERENCE, small=True),
    "vit": SuiteModel("ViT, 3 layers, with a class token", "transformers:vit", forms=OF_INFERENCE, small=True),
    "bert": SuiteModel("BERT-like, 3 layers: two inputs, padding masked", "transformers:bert", forms=OF_INFERENCE),
    "swin": SuiteModel("Swin-like: attention in shifted windows", "more_transformers:swin", forms=OF_INFERENCE),
    "t5": SuiteModel("T5-like: encoder, decoder, bias of distances", "more_transformers:t5", forms=OF_INFERENCE),
    "conformer": SuiteModel("Conformer, 2 blocks", "more_transformers:conformer", forms=OF_INFERENCE),
    "transformer_xl": SuiteModel(
        "Transformer-XL-like: a loop over segments with memory", "more_transformers:transformer_xl", forms=OF_INFERENCE
    ),
    "fnet": SuiteModel("FNet-like: Fourier transforms for attention", "more_transformers:fnet", forms=OF_INFERENCE),
    "einsum_transformer": SuiteModel(
        "attention by EinsumDense and einsums", "more_transformers:einsum_transformer", forms=OF_INFERENCE
    ),
    "lstm_40": SuiteModel("two LSTM layers of 40 steps, looped", "recurrent:lstm_40", forms=OF_INFERENCE, small=True),
    "lstm_unrolled": SuiteModel("the same, unrolled", "recurrent:lstm_unrolled", forms=OF_INFERENCE),
    "bidirectional": SuiteModel(
        "bidirectional LSTM, then a GRU", "recurrent:bidirectional", forms=OF_INFERENCE, small=True
    ),
    "gru_masked": SuiteModel("two GRU layers, padding masked", "recurrent:gru_masked", forms=OF_INFERENCE),
    "conv_lstm": SuiteModel("ConvLSTM2D over frames", "recurrent:conv_lstm", forms=OF_INFERENCE),
    "translator": SuiteModel("LSTM encoder, LSTM decoder, attention", "recurrent:translator", forms=OF_INFERENCE),
    "greedy_decoder": SuiteModel(
        "`tf.while_loop` of a GRU that ends with its sentences, after 24 words at most",
        "loops:greedy_decoder",
        forms=OF_INFERENCE,
        small=True,
    ),
    "settling": SuiteModel(
        "`tf.while_loop` that ends when its numbers settle; 12 trips are given",
        "loops:settling",
        forms=OF_INFERENCE,
        open_trips=12,
    ),
    "mapped": SuiteModel("`tf.map_fn` and `tf.scan`", "loops:mapped", forms=OF_INFERENCE, small=True),
    "compiled_by_xla": SuiteModel("a part with `jit_compile=True`", "loops:compiled_by_xla", forms=OF_INFERENCE),
    "dlrm": SuiteModel("DLRM: embedding lookups, all pairs multiplied", "others:dlrm", forms=OF_INFERENCE, small=True),
    "dlrm_sparse": SuiteModel(
        "DLRM with bags: `tf.nn.embedding_lookup_sparse`, ragged",
        "others:dlrm_sparse",
        input_shapes={"indices": (40, 2), "words": (40,), "tags": (24,)},
        feeds="others:sparse_feeds",
        forms=OF_INFERENCE,
    ),
    "mixture_of_experts": SuiteModel(
        "four experts, a softmax gate", "others:mixture_of_experts", forms=OF_INFERENCE, small=True
    ),
    "mixed_float16": SuiteModel(
        "convolutions and attention in mixed_float16", "others:mixed_float16", forms=OF_INFERENCE, half=True, small=True
    ),
    "mixed_bfloat16": SuiteModel("the same in mixed_bfloat16", "others:mixed_bfloat16", forms=OF_INFERENCE, half=True),
    "fit_cnn": SuiteModel("`fit` of a CNN", "training:fit_cnn", forms=OF_TRAINING, small=True, trains=True),
    "fit_lstm": SuiteModel("`fit` of a looped LSTM", "training:fit_lstm", forms=OF_TRAINING, trains=True),
    "fit_gpt": SuiteModel("`fit` of a transformer, AdamW", "training:fit_gpt", forms=OF_TRAINING, trains=True),
    "fit_clipped": SuiteModel(
        "`fit` with clipped gradients, momentum, a decaying rate",
        "training:fit_clipped",
        forms=OF_TRAINING,
        trains=True,
    ),
    "fit_accumulated": SuiteModel(
        "`fit` with `gradient_accumulation_steps`", "training:fit_accumulated", forms=OF_TRAINING, trains=True
    ),
    "fit_mixed_float16": SuiteModel(
        "`fit` in mixed_float16 with a LossScaleOptimizer",
        "training:fit_mixed_float16",
        forms=OF_TRAINING,
        trains=True,
        half=True,
    ),
    "own_tape": SuiteModel("a GradientTape of one's own, RMSprop", "training:own_tape", forms=OF_TRAINING, trains=True),
    "own_accumulation": SuiteModel(
        "gradients added up, a `tf.cond` applies them", "training:own_accumulation", forms=OF_TRAINING, trains=True
    ),
    "gan": SuiteModel("a step of a GAN, two optimizers", "training:gan", forms=OF_TRAINING, trains=True),
    "mirrored": SuiteModel(
        "MirroredStrategy on two replicas", "training:mirrored", forms=(SAVED_MODEL, WITH_SHAPES), trains=True
    ),
    "tf1_recurrent_training": SuiteModel(
        "TensorFlow 1: while loop, condition, gradients, Adam on ref variables",
        "tensorflow1:recurrent_training",
        forms=OF_TF1,
        trains=True,
    ),
    "tf1_convolutional_training": SuiteModel(
        "TensorFlow 1: convolutions, Momentum, clipping",
        "tensorflow1:convolutional_training",
        forms=OF_TF1,
        trains=True,
    ),
    "tf1_recurrent": SuiteModel(
        "TensorFlow 1: while loop and condition", "tensorflow1:recurrent_inference", forms=OF_TF1
    ),
}
"""name → model; only the builders load TensorFlow"""
