//! Types of tensors in GGUF files: their codes (`ggml_type` of `ggml.h`) and names.

use crate::formats::DType;

/// The types that are read, by code.
const KNOWN: [(u32, DType); 12] = [
    (0, DType::F32),
    (1, DType::F16),
    (2, DType::Q4_0),
    (3, DType::Q4_1),
    (6, DType::Q5_0),
    (7, DType::Q5_1),
    (8, DType::Q8_0),
    (12, DType::Q4K),
    (13, DType::Q5K),
    (14, DType::Q6K),
    (20, DType::Iq4Nl),
    (30, DType::BF16),
];

/// The type of this code; otherwise what is to be said of it.
pub(super) fn dtype(code: u32) -> Result<DType, String> {
    if let Some((_, dtype)) = KNOWN.iter().find(|(known, _)| *known == code) {
        return Ok(*dtype);
    }
    let name = name(code).unwrap_or("unknown to this version");
    let known: Vec<String> = KNOWN.iter().map(|(_, dtype)| dtype.to_string()).collect();
    Err(format!("type {code} ({name}), which is not supported; known: {}", known.join(", ")))
}

/// ggml's name of a type that is not read here.
fn name(code: u32) -> Option<&'static str> {
    Some(match code {
        4 => "Q4_2, given up in 2023",
        5 => "Q4_3, given up in 2023",
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        23 => "IQ4_XS",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        31..=33 => "Q4_0 reordered for one processor, given up in 2024",
        34 => "TQ1_0",
        35 => "TQ2_0",
        36..=38 => "IQ4_NL reordered for one processor, given up in 2024",
        39 => "MXFP4",
        40 => "NVFP4",
        41 => "Q1_0",
        _ => return None,
    })
}
