"""Turns the Keras file of `netra-transliterate` into `config.json` and `model.safetensors` (`multihead-letters`).

    python keras_letters.py <model.keras> <assets.pkl> <folder>

The same bytes every time. No TensorFlow: the weights are an HDF5 file inside of a zip file. The pickle holds two Keras
tokenizers; of it only dictionaries, numbers and strings are made, and no class but the four named below.
"""

import collections
import io
import json
import pickle
import struct
import sys
import zipfile
from pathlib import Path

import h5py
import numpy

# The package's own values; neither file has them.
MAX_LENGTH = 32
START, END = "\t", "\n"


class Tokenizer:
    """Stands for Keras's; the pickle sets its attributes."""


class Reader(pickle.Unpickler):
    """A pickle can name any function and call it; this one names these and nothing else."""

    KNOWN = {
        ("keras.src.legacy.preprocessing.text", "Tokenizer"): Tokenizer,
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("collections", "defaultdict"): collections.defaultdict,
        ("builtins", "int"): int,
    }

    def find_class(self, module, name):
        try:
            return self.KNOWN[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"the pickle names {module}.{name}") from None


def symbols(tokenizer, count):
    """What each id writes; the padding, 0, and what no letter stands for write nothing."""
    written = [""] * count
    for text, index in tokenizer.word_index.items():
        if text not in (START, END, tokenizer.oov_token):
            written[index] = text
    return written


def gru(cell, name, tensors, suffix=""):
    """Keras: kernels [in, 3 · units] and biases [input, state], gates z, r, n. torch: [3 · units, in], gates r, z, n."""
    kernel, recurrent, biases = (cell["vars"][str(i)][()] for i in range(3))
    units = recurrent.shape[0]

    def turned(values):
        z, r, n = (values[..., i * units : (i + 1) * units] for i in range(3))
        return numpy.concatenate([r, z, n], axis=-1)

    tensors[f"{name}.rnn.weight_ih_l0{suffix}"] = turned(kernel).T
    tensors[f"{name}.rnn.weight_hh_l0{suffix}"] = turned(recurrent).T
    tensors[f"{name}.rnn.bias_ih_l0{suffix}"] = turned(biases[0])
    tensors[f"{name}.rnn.bias_hh_l0{suffix}"] = turned(biases[1])


def safetensors(tensors):
    """The bytes of a safetensors file."""
    header, data = {}, b""
    for name in sorted(tensors):
        values = numpy.ascontiguousarray(tensors[name], dtype="<f4")
        start = len(data)
        data += values.tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(values.shape),
            "data_offsets": [start, len(data)],
        }
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + data


def main(model, assets, folder):
    with open(assets, "rb") as file:
        assets = Reader(file).load()
    with zipfile.ZipFile(model) as archive:
        weights = h5py.File(io.BytesIO(archive.read("model.weights.h5")), "r")
    layers = weights["layers"]
    tensors = {}
    both, dense = layers["bidirectional"], layers["time_distributed"]["layer"]["vars"]
    tensors["encoder.embedding.weight"] = layers["embedding"]["vars"]["0"][()]
    gru(both["forward_layer"]["cell"], "encoder", tensors)
    gru(both["backward_layer"]["cell"], "encoder", tensors, "_reverse")
    tensors["encoder.dense.weight"] = dense["0"][()].T
    tensors["encoder.dense.bias"] = dense["1"][()]
    tensors["decoder.embedding.weight"] = layers["embedding_1"]["vars"]["0"][()]
    gru(layers["gru"]["cell"], "decoder", tensors)
    tensors["decoder.attention.score.weight"] = layers["additive_attention"]["vars"]["0"][()]
    tensors["output.weight"] = layers["dense"]["vars"]["0"][()].T
    tensors["output.bias"] = layers["dense"]["vars"]["1"][()]

    def shape(name):
        return tensors[name].shape

    units = shape("decoder.rnn.weight_hh_l0")[1]
    source, target = assets["eng_tokenizer"], assets["khm_tokenizer"]
    config = {
        "model_type": "multihead-letters",
        "source": {
            "symbols": symbols(source, shape("encoder.embedding.weight")[0]),
            "lowercase": True,
            "unknown": "drop",
            "padding": {"symbol": 0, "length": assets["max_eng_len"]},
        },
        "target": {
            "symbols": symbols(target, shape("decoder.embedding.weight")[0]),
            "start": target.word_index[START],
            "end": target.word_index[END],
            "max_length": MAX_LENGTH,
        },
        "encoder": {
            "mixer": "gru",
            "bidirectional": True,
            "layers": 1,
            "embedding_size": shape("encoder.embedding.weight")[1],
            "hidden_size": shape("encoder.rnn.weight_hh_l0")[1],
            "dense": {"features": shape("encoder.dense.weight")[0]},
        },
        "decoder": {
            "mixer": "gru",
            "layers": 1,
            "embedding_size": shape("decoder.embedding.weight")[1],
            "hidden_size": units,
            "cross_attention": {"score": "additive", "projections": []},
            "initial_state": "zero",
        },
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, ensure_ascii=False, indent=1)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(tensors))


if __name__ == "__main__":
    main(*sys.argv[1:])
