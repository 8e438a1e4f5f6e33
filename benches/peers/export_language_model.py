"""Writes one GGUF model in the formats that the generation benchmark's peers are quickest on.

usage: export_language_model.py MODEL.gguf OUT

The folder OUT gets smollm2-q8_0.gguf, smollm2-q4_0.gguf and smollm2-onnx/ with onnx/model.onnx, model_quantized.onnx
and model_q4.onnx: the weights of MODEL.gguf, expanded to float32, and quantised again.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from optimum.exporters.onnx import main_export
from transformers import AutoModelForCausalLM, AutoTokenizer

Q8_0, Q4_0, F32 = (GGMLQuantizationType[name] for name in ("Q8_0", "Q4_0", "F32"))


def write_gguf(source: GGUFReader, target: Path, quantised: GGMLQuantizationType) -> None:
    """All matrices in one format, but the table of tokens, which is the output layer too, never below 8 bits."""
    architecture = source.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    for name, field in source.fields.items():
        # The writer writes these itself.
        if name == "general.architecture" or name.startswith("GGUF."):
            continue
        kind, value = field.types[0], field.contents()
        if kind == GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, kind)
    for tensor in source.tensors:
        values = quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.tensor_type == F32:
            writer.add_tensor(tensor.name, values)
            continue
        format = Q8_0 if tensor.name == "token_embd.weight" else quantised
        writer.add_tensor(tensor.name, quants.quantize(values, format), raw_dtype=format)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_onnx(source: Path, target: Path) -> None:
    """A graph with its cache as inputs and outputs: in float32, its matrices dynamically quantised to int8, and in 4 bits
    with a scale for 32 weights of a column, as Transformers.js' own script writes `q4`."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        checkpoint, exported = Path(scratch) / "checkpoint", Path(scratch) / "exported"
        folder = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
        model = AutoModelForCausalLM.from_pretrained(**folder, dtype=torch.float32)
        # What transformers takes from the file is not the token that ends a turn.
        model.generation_config.eos_token_id = 2
        model.save_pretrained(checkpoint)
        AutoTokenizer.from_pretrained(**folder).save_pretrained(checkpoint)
        main_export(
            str(checkpoint), str(exported), task="text-generation-with-past", device="cpu", do_validation=False
        )
        (target / "onnx").mkdir(parents=True)
        for file in exported.glob("*.json"):
            shutil.copy(file, target)
        quantize_dynamic(exported / "model.onnx", target / "onnx/model_quantized.onnx", weight_type=QuantType.QInt8)
        four_bits = MatMulNBitsQuantizer(onnx.load(exported / "model.onnx"), block_size=32, is_symmetric=True)
        four_bits.process()
        four_bits.model.save_model_to_file(str(target / "onnx/model_q4.onnx"), False)
        shutil.move(exported / "model.onnx", target / "onnx")


def main() -> None:
    source, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    reader = GGUFReader(source)
    for quantised in (Q8_0, Q4_0):
        write_gguf(reader, out / f"smollm2-{quantised.name.lower()}.gguf", quantised)
    write_onnx(source, out / "smollm2-onnx")


main()
