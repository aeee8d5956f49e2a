"""FLOPs of all other ops: what they do to each element that they read or write.

PyTorch marks its element-wise ops, which take 1 an element of the result unless EACH_OF_RESULT says another number.
"""

from collections.abc import Callable, Sequence
from math import log2, prod
from typing import Any

Arguments = Sequence[Any]
Formula = Callable[[Arguments, dict[str, Any], Any], "int | None"]


def _words(text: str) -> list[str]:
    return text.split()


MOVES = frozenset(
    _words(
        """
    _copy_from _local_scalar_dense _pin_memory _reshape_copy _to_copy _unsafe_index
    _unsafe_masked_index _unsafe_view alias arange as_strided_scatter as_strided_copy bernoulli bernoulli_ block_diag
    cat channel_shuffle clone col2im complex concat constant_pad_nd contiguous copy copy_ cauchy_ detach_copy
    diag_embed diagonal_backward diagonal_scatter diagonal_copy embedding empty empty_like empty_permuted
    empty_strided expand_copy exponential exponential_ eye fft_fftshift fill fill_ flip full full_like gather
    geometric_ hstack im2col index index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_select
    lift lift_fresh lift_fresh_copy linspace log_normal_ logspace masked_fill masked_fill_ masked_scatter
    masked_scatter_ masked_select max_unpool2d max_unpool3d multinomial new_empty new_empty_strided new_full new_ones
    new_zeros normal normal_ normal_functional ones ones_like permute_copy pixel_shuffle pixel_unshuffle poisson put
    put_ rand rand_like randint randint_like randn randn_like random random_ randperm reflection_pad1d
    reflection_pad2d reflection_pad3d repeat repeat_interleave replication_pad1d replication_pad2d replication_pad3d
    resize_ resize roll rot90 scalar_tensor scatter scatter_ select_backward select_copy select_scatter set_
    slice_backward slice_copy slice_scatter split_copy split_with_sizes_copy squeeze_copy stack t_copy take
    transpose_copy tril tril_ tril_indices triu triu_ triu_indices unbind_copy unfold unfold_copy uniform uniform_
    unsafe_split unsafe_split_with_sizes unsafe_chunk unsqueeze_copy upsample_nearest1d upsample_nearest2d
    upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d view_copy zero
    zero_ zeros zeros_like _fw_primal _conj_copy real_copy imag_copy view_as_real_copy view_as_complex_copy
    _indices _values _sparse_coo_tensor_with_dims_and_tensors _coalesce _nested_view_from_buffer_copy to_dense
        """
    )
)
"""ops that only move or make values"""

EACH_OF_RESULT: dict[str, int] = {
    **dict.fromkeys(("addcmul", "addcmul_", "addcdiv", "addcdiv_", "lerp", "lerp_", "native_dropout"), 3),
    **dict.fromkeys(("sigmoid", "sigmoid_", "elu", "elu_", "celu", "selu", "selu_", "logit", "softplus"), 4),
    "polar": 4,
    **dict.fromkeys(("silu", "silu_", "mish", "mish_", "hardswish", "hardswish_", "log_sigmoid_forward"), 5),
    **dict.fromkeys(("gelu", "gelu_"), 8),
    **dict.fromkeys(("silu_backward", "gelu_backward", "mish_backward"), 10),
    **dict.fromkeys(("tanh_backward", "sigmoid_backward", "elu_backward"), 3),
    **dict.fromkeys(("softplus_backward", "hardswish_backward"), 3),
    **dict.fromkeys(("native_dropout_backward", "threshold_backward", "_prelu_kernel", "glu"), 2),
    **dict.fromkeys(("leaky_relu_backward", "hardtanh_backward", "hardsigmoid_backward", "logit_backward"), 2),
    **dict.fromkeys(("index_add", "index_add_", "scatter_add", "scatter_add_", "masked_scatter_backward"), 1),
    **dict.fromkeys(("glu_backward", "_prelu_kernel_backward", "log_sigmoid_backward"), 6),
    **dict.fromkeys(("rrelu_with_noise", "rrelu_with_noise_", "_euclidean_dist", "isin", "bucketize"), 2),
    **dict.fromkeys(("upsample_linear1d", "upsample_linear1d_backward"), 4),
    **dict.fromkeys(("upsample_bilinear2d", "_upsample_bilinear2d_aa", "grid_sampler_2d"), 8),
    **dict.fromkeys(("upsample_bilinear2d_backward", "_upsample_bilinear2d_aa_backward", "upsample_trilinear3d"), 16),
    **dict.fromkeys(("upsample_bicubic2d", "_upsample_bicubic2d_aa", "upsample_bicubic2d_backward"), 40),
    **dict.fromkeys(("abs", "copysign", "floor_divide", "eq", "ne", "lt", "le", "gt", "ge", "threshold"), 1),
    **dict.fromkeys(("gcd", "lcm", "heaviside", "__irshift__", "_masked_scale", "hann_window", "hamming_window"), 1),
    **dict.fromkeys(("_add_relu", "hardshrink_backward", "softshrink_backward", "rrelu_with_noise_backward"), 2),
    **dict.fromkeys(("grid_sampler_2d_backward", "grid_sampler_3d", "upsample_trilinear3d_backward"), 16),
    **dict.fromkeys(("quantize_per_tensor", "quantize_per_channel", "_fake_quantize_per_tensor_affine"), 4),
    **dict.fromkeys(("fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask"), 4),
    "affine_grid_generator": 6,
    "cross": 3,
    "linalg_cross": 3,
    "renorm": 3,
}
"""for each element of the first result"""

EACH_OF_FIRST: dict[str, int] = {
    **dict.fromkeys(
        _words(
            """
        sum mean amax amin max min argmax argmin aminmax prod any all cumsum cumprod cummax cummin _cummax_helper nansum
        trace count_nonzero nonzero histc bincount diff searchsorted median nanmedian mode equal argwhere
        cumsum_ cumprod_ logcumsumexp max_pool2d_with_indices_backward max_pool3d_with_indices_backward
        avg_pool1d_backward avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d adaptive_max_pool3d
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward nll_loss_forward nll_loss2d_forward nll_loss_backward
        nll_loss2d_backward embedding_dense_backward embedding_backward upsample_nearest1d_backward
        upsample_nearest2d_backward upsample_nearest3d_backward _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d_backward reflection_pad1d_backward reflection_pad2d_backward
        replication_pad1d_backward replication_pad2d_backward unfold_backward adaptive_avg_pool1d adaptive_avg_pool2d
        adaptive_avg_pool3d adaptive_avg_pool3d_backward max_pool2d_backward fractional_max_pool2d
        fractional_max_pool2d_backward reflection_pad3d_backward replication_pad3d_backward unique_consecutive
        segment_reduce _segment_reduce_backward _aminmax nonzero_static histogram embedding_renorm
        """
        ),
        1,
    ),
    **dict.fromkeys(("dist", "binary_cross_entropy_with_logits", "multilabel_margin_loss_backward"), 3),
    **dict.fromkeys(("norm", "linalg_vector_norm", "var", "std", "var_mean", "std_mean", "mse_loss", "l1_loss"), 3),
    **dict.fromkeys(("mse_loss_backward", "smooth_l1_loss", "huber_loss", "smooth_l1_loss_backward"), 3),
    **dict.fromkeys(("huber_loss_backward", "soft_margin_loss", "nll_loss_nd"), 3),
    **dict.fromkeys(("binary_cross_entropy", "binary_cross_entropy_backward", "multi_margin_loss"), 6),
    **dict.fromkeys(("multilabel_margin_loss_forward", "multi_margin_loss_backward", "soft_margin_loss_backward"), 6),
    **dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax", "logsumexp", "_masked_softmax"), 5),
    **dict.fromkeys(("softmax", "log_softmax", "_logcumsumexp", "_masked_softmax_backward"), 5),
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), 4),
    **dict.fromkeys(("_fused_rms_norm", "rms_norm", "_weight_norm_interface"), 5),
    **dict.fromkeys(("_weight_norm_interface_backward", "_fused_rms_norm_backward"), 10),
    **dict.fromkeys(
        _words(
            """
        native_layer_norm native_batch_norm native_group_norm _native_batch_norm_legit cudnn_batch_norm
        _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _batch_norm_with_update
        _batch_norm_no_update batch_norm
        """
        ),
        8,
    ),
    **dict.fromkeys(
        _words(
            """
        native_layer_norm_backward native_batch_norm_backward native_group_norm_backward batch_norm_backward
        cudnn_batch_norm_backward
        """
        ),
        14,
    ),
    **dict.fromkeys(("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell"), 6),
    **dict.fromkeys(("_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_gru_cell_backward"), 24),
    "im2col_backward": 1,
    "_ctc_loss": 20,
    "_ctc_loss_backward": 20,
}
"""for each element of the first tensor that is read"""


def _each(number: int, tensor: Any) -> int:
    return number * int(tensor.numel())


def first_tensor(values: Any) -> Any:
    """The first tensor among arguments or results, or None."""
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if hasattr(value, "numel"):
            return value
        if isinstance(value, (list, tuple)):
            found = first_tensor(value)
            if found is not None:
                return found
    return None


def _window(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """Pooling: each result reads a window, whose sizes are the second argument; one size holds for all dimensions."""
    result = first_tensor(out)
    sizes = list(arguments[1])
    dimensions = result.dim() - 2 if result.dim() > 2 else 1
    return int(result.numel() * (prod(sizes) if len(sizes) > 1 else sizes[0] ** dimensions))


def _sort(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Comparisons: n log n along the dimension that is sorted."""
    tensor = first_tensor(arguments)
    dimension = next((value for value in arguments[1:] if isinstance(value, int) and not isinstance(value, bool)), -1)
    length = tensor.shape[dimension] if tensor.dim() else 1
    return int(tensor.numel() * max(1, log2(max(length, 1))))


def _largest(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Comparisons with the smallest of the k largest so far."""
    return int(arguments[0].numel() * max(1, log2(max(arguments[1], 1))))


def _transform(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """A Fourier transform: 5 n log n, half of it where one side is real."""
    tensor = max(arguments[0], out, key=lambda side: side.numel())
    length = prod(tensor.shape[dimension] for dimension in arguments[1])
    half = 1 if arguments[0].is_complex() and out.is_complex() else 2
    return int(5 * tensor.numel() * max(1, log2(max(length, 1))) / half)


def _bag(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Each index adds a row of the table."""
    return int(arguments[1].numel() * arguments[0].shape[-1])


def _bag_backward(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Each index adds a row of the gradient."""
    return int(arguments[1].numel() * arguments[0].shape[-1])


def _fused_adam(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    return sum(_each(14, tensor) for tensor in arguments[0])


def _fused_sgd(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    return sum(_each(4, tensor) for tensor in arguments[0])


def _accumulated(arguments: Arguments, keywords: dict[str, Any], _out: Any) -> int:
    """`index_put` with `accumulate` adds each value."""
    accumulates = arguments[3] if len(arguments) > 3 else keywords.get("accumulate", False)
    return int(arguments[2].numel()) if accumulates else 0


def _reduced(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """`scatter_reduce` and `index_reduce`: one for each element of the source."""
    return int(arguments[3].numel())


def _cube(factor: float) -> Formula:
    """A factorisation of square matrices of side n: `factor` n³ each."""
    return lambda arguments, _keywords, _out: int(factor * arguments[0].numel() * arguments[0].shape[-1])


def _substitution(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """Triangular systems of side n: n² for each column of the right side."""
    return int(first_tensor(out).numel() * arguments[0].shape[-1])


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool1d", "avg_pool2d"), _window),
    **dict.fromkeys(("avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d"), _window),
    **dict.fromkeys(("sort", "argsort", "_unique2", "unique_dim", "kthvalue"), _sort),
    "topk": _largest,
    **dict.fromkeys(("_fft_r2c", "_fft_c2c", "_fft_c2r"), _transform),
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _bag),
    **dict.fromkeys(("_embedding_bag_backward", "_embedding_bag_dense_backward"), _bag_backward),
    **dict.fromkeys(("_fused_adam_", "_fused_adamw_", "_fused_adam", "_fused_adamw"), _fused_adam),
    **dict.fromkeys(("_fused_sgd_", "_fused_sgd", "_fused_adagrad_"), _fused_sgd),
    **dict.fromkeys(("index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"), _accumulated),
    **dict.fromkeys(("scatter_reduce", "scatter_reduce_", "index_reduce", "index_reduce_"), _reduced),
    **dict.fromkeys(("linalg_cholesky_ex", "cholesky"), _cube(1 / 3)),
    **dict.fromkeys(("linalg_lu_factor_ex", "_linalg_det", "_linalg_slogdet"), _cube(2 / 3)),
    "linalg_inv_ex": _cube(2),
    "linalg_solve_triangular": _substitution,
}


def _has_formula(name: str) -> bool:
    return any(name in table for table in (FORMULAS, MOVES, EACH_OF_FIRST, EACH_OF_RESULT))


def _of_lists(name: str, pointwise: bool, arguments: Arguments) -> int | None:
    """An op on each of a list of tensors: for each element what the op on one tensor takes."""
    name = name.removesuffix("_")
    number = EACH_OF_FIRST.get(name, EACH_OF_RESULT.get(name, 1 if pointwise else None))
    if name in MOVES:
        number = 0
    return None if number is None else sum(_each(number, tensor) for tensor in arguments[0])


def light_flops(name: str, pointwise: bool, arguments: Arguments, keywords: dict[str, Any], out: Any) -> int | None:
    """FLOPs of an op that is no product, or None where there is no formula.

    Args:
        name: The aten op.
        pointwise: Whether PyTorch marks it as element-wise.
        arguments: As PyTorch's dispatcher passes them.
        keywords: Likewise.
        out: What it gave.
    """
    if name.startswith("_foreach_"):
        return _of_lists(name.removeprefix("_foreach_"), pointwise, arguments)
    if not _has_formula(name) and _has_formula(name.removesuffix("_")):
        name = name.removesuffix("_")
    if name in FORMULAS:
        return FORMULAS[name](arguments, keywords, out)
    if name in MOVES:
        return 0
    first = first_tensor([*arguments, *keywords.values()])
    if name in EACH_OF_FIRST:
        return _each(EACH_OF_FIRST[name], first)
    result = first_tensor(out)
    if result is None:
        result = first
    if name in EACH_OF_RESULT:
        return _each(EACH_OF_RESULT[name], result)
    if pointwise:
        return _each(1, result)
    return None
