"""Writes one encoder in the formats that the embedding benchmark's peer reads.

usage: export_encoder.py MODEL OUT

MODEL: a folder with config.json, model.safetensors and the tokenizer's files. The folder OUT gets minilm-onnx/ with
onnx/model.onnx, in float32, and onnx/model_quantized.onnx, quantised with the settings that Transformers.js' own script
takes for BERT: int8 with a scale for each column, in 7 bits.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from onnxruntime.quantization import QuantType, quantize_dynamic
from optimum.exporters.onnx import main_export


def main() -> None:
    source, out = map(Path, sys.argv[1:])
    target = out / "minilm-onnx"
    (target / "onnx").mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        exported = Path(scratch)
        task = {"task": "feature-extraction", "library_name": "transformers"}
        main_export(str(source), str(exported), **task, device="cpu", do_validation=False)
        for file in exported.glob("*.json"):
            shutil.copy(file, target)
        shutil.copy(exported / "model.onnx", target / "onnx")
    quantize_dynamic(
        target / "onnx/model.onnx",
        target / "onnx/model_quantized.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
    )


main()
