"""Recurrent networks, from Keras layers."""

from typing import Any

import keras
from keras import layers

from tests.models.model import Built
from tests.models.products import matrix_product
from tests.models.steps import inference

STEPS = 40


def lstm_40(batch: int) -> Built:
    """Two layers, each a loop over the steps."""
    return inference(lstm_model(unroll=False), batch)


def lstm_unrolled(batch: int) -> Built:
    """The same, step after step in the graph."""
    return inference(lstm_model(unroll=True), batch)


def lstm_model(*, unroll: bool, vocabulary: int = 500, width: int = 64) -> Any:
    keras.utils.set_random_seed(0)
    tokens = keras.Input((STEPS,), dtype="int32", name="tokens")
    net = layers.Embedding(vocabulary, width)(tokens)
    net = layers.LSTM(width, return_sequences=True, unroll=unroll)(net)
    net = layers.LSTM(width, unroll=unroll)(net)
    return keras.Model(tokens, layers.Dense(vocabulary)(net))


def bidirectional(batch: int) -> Built:
    """A bidirectional LSTM, then a GRU."""
    keras.utils.set_random_seed(0)
    tokens = keras.Input((STEPS,), dtype="int32", name="tokens")
    net = layers.Embedding(500, 48)(tokens)
    net = layers.Bidirectional(layers.LSTM(48, return_sequences=True))(net)
    net = layers.GRU(64)(net)
    return inference(keras.Model(tokens, layers.Dense(10, activation="softmax")(net)), batch)


def gru_masked(batch: int) -> Built:
    """Two GRU layers over sentences whose padding is masked."""
    keras.utils.set_random_seed(0)
    tokens = keras.Input((STEPS,), dtype="int32", name="tokens")
    net = layers.Embedding(500, 48, mask_zero=True)(tokens)
    net = layers.GRU(48, return_sequences=True)(net)
    net = layers.GRU(48, reset_after=False, go_backwards=True)(net)
    return inference(keras.Model(tokens, layers.Dense(20)(net)), batch)


def conv_lstm(batch: int) -> Built:
    """ConvLSTM2D over frames."""
    keras.utils.set_random_seed(0)
    frames = keras.Input((8, 16, 16, 3), name="frames")
    net = layers.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(frames)
    net = layers.ConvLSTM2D(16, 3, padding="same")(layers.BatchNormalization()(net))
    return inference(keras.Model(frames, layers.Conv2D(1, 3, padding="same")(net)), batch)


def translator(batch: int) -> Built:
    """An LSTM encoder, an LSTM decoder of given words, and attention between them."""
    keras.utils.set_random_seed(0)
    read = keras.Input((STEPS,), dtype="int32", name="read")
    written = keras.Input((30,), dtype="int32", name="written")
    seen, *states = layers.LSTM(64, return_sequences=True, return_state=True)(layers.Embedding(300, 64)(read))
    net = layers.LSTM(64, return_sequences=True)(layers.Embedding(300, 64)(written), initial_state=states)
    attended = layers.Attention()([net, seen])
    model = keras.Model([read, written], layers.Dense(300)(layers.Concatenate()([net, attended])))
    return inference(model, batch, 2 * matrix_product(batch * 30, 64, STEPS))
