"""Published sizes of models of transformers, beside the default of each type: size → what it changes."""

from typing import Any


def _llama(hidden: int, inner: int, layers: int, heads: int, kv: int, vocabulary: int, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": vocabulary,
        **more,
    }


def _bert(hidden: int, layers: int, heads: int, inner: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner or 4 * hidden,
        **more,
    }


def _t5(width: int, inner: int, layers: int, heads: int, **more: Any) -> dict[str, Any]:
    return {"d_model": width, "d_ff": inner, "num_layers": layers, "num_heads": heads, "d_kv": 64, **more}


def _both(width: int, layers: int, heads: int, **more: Any) -> dict[str, Any]:
    ends = ("encoder", "decoder")
    return {
        "d_model": width,
        **{f"{end}_layers": layers for end in ends},
        **{f"{end}_attention_heads": heads for end in ends},
        **{f"{end}_ffn_dim": 4 * width for end in ends},
        **more,
    }


_TIED = {"tie_word_embeddings": True}
_HEADS_OF_128, _HEADS_OF_256 = {"head_dim": 128}, {"head_dim": 256}
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "gpt2": {
        "medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
        "large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
        "xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
    },
    "opt": {"1.3b": {"hidden_size": 2048, "ffn_dim": 8192, "num_hidden_layers": 24, "num_attention_heads": 32}},
    "bloom": {
        "560m": {"hidden_size": 1024, "n_layer": 24, "n_head": 16},
        "1b7": {"hidden_size": 2048, "n_layer": 24, "n_head": 16},
    },
    "gpt_neox": {
        "160m": _bert(768, 12, 12, vocab_size=50304),
        "410m": _bert(1024, 24, 16, vocab_size=50304),
        "1b": _bert(2048, 16, 8, vocab_size=50304),
    },
    "llama": {
        "135m": _llama(576, 1536, 30, 9, 3, 49152, **_TIED),
        "360m": _llama(960, 2560, 32, 15, 5, 49152, **_TIED),
        "1b": _llama(2048, 8192, 16, 32, 8, 128256, **_TIED),
        "1.1b": _llama(2048, 5632, 22, 32, 4, 32000),
    },
    "qwen2": {
        "0.5b": _llama(896, 4864, 24, 14, 2, 151936, **_TIED),
        "1.5b": _llama(1536, 8960, 28, 12, 2, 151936, **_TIED),
    },
    "qwen3": {
        "0.6b": _llama(1024, 3072, 28, 16, 8, 151936, **_TIED, **_HEADS_OF_128),
        "1.7b": _llama(2048, 6144, 28, 16, 8, 151936, **_TIED, **_HEADS_OF_128),
    },
    "gemma3_text": {
        "270m": _llama(640, 2048, 18, 4, 1, 262144, **_HEADS_OF_256),
        "1b": _llama(1152, 6912, 26, 4, 1, 262144, **_HEADS_OF_256),
    },
    "olmo2": {"1b": _llama(2048, 8192, 16, 16, 16, 100352)},
    "stablelm": {"1.6b": _llama(2048, 5632, 24, 32, 32, 100352)},
    "mixtral": {"small": _llama(1024, 3584, 8, 16, 4, 32000, num_local_experts=8)},
    "mamba": {
        "130m": {"hidden_size": 768, "num_hidden_layers": 24},
        "370m": {"hidden_size": 1024, "num_hidden_layers": 48},
    },
    "bert": {
        "tiny": _bert(128, 2, 2),
        "mini": _bert(256, 4, 4),
        "small": _bert(512, 4, 8),
        "medium": _bert(512, 8, 8),
        "large": _bert(1024, 24, 16),
    },
    "roberta": {"large": _bert(1024, 24, 16)},
    "electra": {"base": _bert(768, 12, 12, embedding_size=768), "large": _bert(1024, 24, 16, embedding_size=1024)},
    "albert": {
        "base": _bert(768, 12, 12),
        "large": _bert(1024, 24, 16),
        "xlarge": _bert(2048, 24, 16),
    },
    "deberta-v2": {"small": _bert(768, 6, 12), "base": _bert(768, 12, 12), "xlarge": _bert(1536, 24, 24)},
    "t5": {
        "base": _t5(768, 3072, 12, 12),
        "large": _t5(1024, 4096, 24, 16),
        "v1_1_small": _t5(512, 1024, 8, 6, feed_forward_proj="gated-gelu"),
        "v1_1_base": _t5(768, 2048, 12, 12, feed_forward_proj="gated-gelu"),
    },
    "bart": {"base": _both(768, 6, 12)},
    "whisper": {
        "tiny": _both(384, 4, 6),
        "base": _both(512, 6, 8),
        "small": _both(768, 12, 12),
        "medium": _both(1024, 24, 16),
    },
    "wav2vec2": {"large": _bert(1024, 24, 16)},
    "hubert": {"large": _bert(1024, 24, 16)},
    "wavlm": {"large": _bert(1024, 24, 16)},
    "clip": {
        "vit_l_14": {
            "vision_config": {**_bert(1024, 24, 16), "patch_size": 14},
            "text_config": _bert(768, 12, 12),
            "projection_dim": 768,
        }
    },
}
