"""Which measured op type an op that was not measured is taken for: the nearest kind of work in any framework.

Devices are measured on some thirty ops, by TensorFlow's names (`engine calibrate`). The ops of PyTorch and ONNX, and
others of TensorFlow, have the shares of the peaks of the one that does the same work.
"""

from collections.abc import Mapping

ATTENTION = "Attention"
"""the name of fused attention, which no calibration measures yet"""
_STANDS_FOR = {
    "MatMul": """
        _FusedMatMul SparseMatMul RiscDot XlaDot XlaDotV2 QuantizedMatMul _QuantizedMatMul UniformQuantizedDot
        Gemm MatMulInteger QLinearMatMul MatMulNBits FusedMatMul mm addmm addmv mv linear _int_mm _scaled_mm
        _addmm_activation
    """,
    "BatchMatMulV2": """
        BatchMatMul BatchMatMulV3 FusedBatchMatMulV2 Einsum XlaEinsum bmm baddbmm einsum _grouped_mm
        _scaled_grouped_mm MoE QMoE
    """,
    ATTENTION: """
        MultiHeadAttention GroupQueryAttention PackedAttention QAttention scaled_dot_product_attention
        _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
        _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention _flash_attention_forward
        _efficient_attention_forward _scaled_dot_product_flash_attention_backward
        _scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_efficient_attention_backward
        _scaled_dot_product_cudnn_attention_backward _flash_attention_backward _efficient_attention_backward
        _scaled_dot_product_attention_math
    """,
    "Conv2D": """
        Conv Conv3D XlaConv XlaConvV2 _FusedConv2D _FusedConv3D FusedConv Conv2DWithBias PadWithConv2D
        FusedPadConv2D DepthwiseConv2dNative _FusedDepthwiseConv2dNative ConvInteger QLinearConv DeformConv
        convolution convolution_overrideable _convolution cudnn_convolution mkldnn_convolution
    """,
    "Conv2DBackpropInput": """
        Conv2DBackpropInputV2 Conv3DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput
        ConvTranspose
    """,
    "Conv2DBackpropFilter": """
        Conv2DBackpropFilterV2 Conv3DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter
        Conv2DBackpropFilterWithBias convolution_backward convolution_backward_overrideable
    """,
    "Relu": "Relu6 LeakyRelu PRelu Clip relu leaky_relu hardtanh clamp clamp_min clamp_max threshold",
    "Tanh": "Erf Gelu FastGelu BiasGelu QuickGelu Elu Selu Softplus tanh erf gelu elu selu softplus",
    "Sigmoid": """
        HardSigmoid HardSwish Swish Silu Exp Log Cos Sin sigmoid silu mish hardswish hardsigmoid exp log cos sin
    """,
    "Square": "Pow Sqrt Rsqrt Reciprocal pow sqrt rsqrt reciprocal",
    "AddV2": """
        Add AddN add addcmul addcdiv lerp where Where Select SelectV2 Maximum Minimum maximum minimum Abs abs
        Greater GreaterEqual Less LessEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot gt ge lt le eq ne
        logical_and logical_or logical_not bitwise_and bitwise_or bitwise_not native_dropout Dropout masked_fill
        _foreach_add _foreach_addcmul _foreach_addcdiv _foreach_lerp
    """,
    "Mul": "Div RealDiv DivNoNan mul div floor_divide remainder fmod native_dropout_backward _foreach_mul _foreach_div",
    "Sub": "Neg sub rsub neg Floor Round floor ceil round trunc sign Sign",
    "ReluGrad": """
        Relu6Grad LeakyReluGrad TanhGrad SigmoidGrad EluGrad SeluGrad RsqrtGrad SqrtGrad threshold_backward
        gelu_backward silu_backward tanh_backward sigmoid_backward hardtanh_backward leaky_relu_backward
        elu_backward hardswish_backward hardsigmoid_backward mish_backward softplus_backward
    """,
    "ResourceApplyGradientDescent": """
        ApplyGradientDescent ResourceApplyMomentum ApplyMomentum ResourceApplyKerasMomentum ResourceApplyAdam
        ApplyAdam ResourceApplyRMSProp ApplyRMSProp ResourceApplyAdagrad ApplyAdagrad ResourceApplyAdagradV2
        ResourceApplyFtrl AssignAddVariableOp AssignSubVariableOp AssignAdd AssignSub
    """,
    "BiasAdd": "BiasAddV1",
    "BiasAddGrad": "native_layer_norm_backward native_group_norm_backward _fused_rms_norm_backward",
    "Sum": """
        Prod Max Min All Any SumV2 ReduceSum ReduceProd ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSumExp
        ReduceSumSquare ArgMax ArgMin CumSum Cumsum sum prod amax amin max min argmax argmin any all cumsum norm
        linalg_vector_norm var var_mean std TopK TopKV2 topk sort L2Loss
    """,
    "Mean": "ReduceMean GlobalAveragePool GlobalMaxPool mean nll_loss_forward nll_loss2d_forward mse_loss",
    "ConcatV2": """
        Concat Pack Cast Identity Tile Expand Pad PadV2 MirrorPad OneHot Fill Reverse ReverseV2 cat stack copy
        clone _to_copy contiguous repeat constant_pad_nd fill zeros ones zeros_like ones_like full full_like
        arange tril triu DequantizeLinear QuantizeLinear DynamicQuantizeLinear
    """,
    "Slice": """
        StridedSlice StridedSliceGrad Split SplitV Unpack Gather GatherV2 GatherND GatherNd GatherElements
        ResourceGather ScatterND ScatterNd TensorScatterUpdate UnsortedSegmentSum EmbedLayerNormalization
        embedding index index_select gather scatter scatter_add index_add index_put slice_backward
        select_backward embedding_dense_backward nll_loss_backward nll_loss2d_backward
    """,
    "MaxPool": "MaxPoolV2 MaxPool3D MaxPoolWithArgmax max_pool2d_with_indices max_pool3d_with_indices",
    "AvgPool": "AvgPool3D AveragePool LpPool avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d",
    "MaxPoolGrad": "MaxPoolGradV2 MaxPool3DGrad max_pool2d_with_indices_backward max_pool3d_with_indices_backward",
    "AvgPoolGrad": "AvgPool3DGrad avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward",
    "FusedBatchNormV3": """
        FusedBatchNorm FusedBatchNormV2 _FusedBatchNormEx BatchNormalization LRN native_batch_norm
        cudnn_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional
        _native_batch_norm_legit_no_training _batch_norm_with_update _batch_norm_no_update
    """,
    "FusedBatchNormGradV3": """
        FusedBatchNormGrad FusedBatchNormGradV2 native_batch_norm_backward cudnn_batch_norm_backward
        batch_norm_backward
    """,
    "Softmax": """
        LogSoftmax SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits LayerNormalization
        SkipLayerNormalization SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization
        InstanceNormalization GroupNormalization MeanVarianceNormalization _softmax _log_softmax _safe_softmax
        _softmax_backward_data _log_softmax_backward_data native_layer_norm native_group_norm _fused_rms_norm
        rms_norm
    """,
    "Transpose": "SpaceToDepth DepthToSpace permute_copy transpose_copy pixel_shuffle pixel_unshuffle",
}
MEASURED_TYPE: Mapping[str, str] = {each: name for name, words in _STANDS_FOR.items() for each in words.split()}
"""op type → the measured type whose work is like its own"""


def measured_type(op_type: str) -> str:
    """The measured type that stands for `op_type`; itself where none does. An op in place is like the op."""
    if op_type in _STANDS_FOR:
        return op_type
    return MEASURED_TYPE.get(op_type) or MEASURED_TYPE.get(op_type.removesuffix("_"), op_type)
