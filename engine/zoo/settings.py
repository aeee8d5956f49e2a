"""The settings of the zoo's models: one dataclass a model, a sentence a field. Free of TensorFlow."""

from dataclasses import dataclass

from engine.settings.fields import choice, refused, require_allowed, share, switch, whole

ADDITIVE, DOT = "additive", "dot"
"""attentions"""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of every model. Raises SettingsError for a value that is not allowed."""

    batch: int = whole(64, 1, 65_536, "examples in one step")
    inference: bool = switch(False, "only the forward pass, as used after training, instead of a full training step")

    def __post_init__(self) -> None:
        require_allowed(self)


@dataclass(frozen=True, slots=True)
class TinySettings(ModelSettings):
    """The tiny convolutional network."""

    batch: int = whole(4, 1, 65_536, "examples in one step")


@dataclass(frozen=True, slots=True)
class InceptionSettings(ModelSettings):
    """Inception-V3. Source: Szegedy et al. 2015."""

    image_size: int = whole(299, 75, 2048, "height and width of the images")
    classes: int = whole(1000, 2, 1_000_000, "number of classes")
    auxiliary: bool = switch(True, "whether a second classifier halfway learns too; always left out in inference")

    def __post_init__(self) -> None:
        ModelSettings.__post_init__(self)
        _check_room(self, 107)


@dataclass(frozen=True, slots=True)
class NasnetSettings(ModelSettings):
    """NASNet-A. The defaults are the paper's mobile form, 4 @ 1056. Source: Zoph et al. 2017."""

    image_size: int = whole(224, 32, 2048, "height and width of the images")
    classes: int = whole(1000, 2, 1_000_000, "number of classes")
    cells: int = whole(4, 1, 32, "normal cells in each of the three stages: the paper's N (mobile: 4, large: 6)")
    filters: int = whole(
        44,
        4,
        4096,
        "filters of a cell's branches in the first stage, a multiple of 4; the last layer has 24 times as many "
        "(mobile: 44, large: 168)",
        multiple_of=4,
    )
    stem_filters: int = whole(32, 1, 4096, "filters of the first convolution (mobile: 32, large: 96)")
    auxiliary: bool = switch(
        True, "whether a second classifier after two thirds of the cells learns too; always left out in inference"
    )

    def __post_init__(self) -> None:
        ModelSettings.__post_init__(self)
        _check_room(self, 67)


@dataclass(frozen=True, slots=True)
class NmtSettings(ModelSettings):
    """Neural machine translation with attention. The sizes are GNMT's. Source: Wu et al. 2016."""

    layers: int = whole(
        2,
        2,
        16,
        "LSTM layers of the encoder, and as many of the decoder (GNMT: 8); Placeto's experiments have one a GPU",
    )
    steps: int = whole(32, 1, 256, "words of every sentence, source and target: the number of unrolled steps")
    units: int = whole(1024, 1, 16_384, "width of the LSTMs, the attention and the embeddings")
    vocabulary: int = whole(32_000, 2, 1_000_000, "words, or pieces of words, of each language")
    dropout: float = share(0.2, "share of an LSTM's inputs that is dropped in training")
    batch: int = whole(128, 1, 65_536, "sentences in one step")
    attention: str = choice(
        (ADDITIVE, DOT),
        "how the decoder's state is compared with the encoder's outputs: by a hidden layer (GNMT), or by dot products",
    )


def _check_room(settings: InceptionSettings | NasnetSettings, lowest: int) -> None:
    """Raise SettingsError for images below `lowest` pixels, too small for the second classifier's windows."""
    if settings.auxiliary and not settings.inference and settings.image_size < lowest:
        raise refused("image_size", settings.image_size, f"at least {lowest} with the auxiliary classifier")
