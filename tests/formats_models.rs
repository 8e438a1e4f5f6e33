//! The real models against numpy: every tensor and the shortlist, by the digests that
//! `tests/fixtures/formats/make.py` wrote.

#![cfg(not(target_arch = "wasm32"))] // no files there
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod formats_files;

use formats_files::LoggedFile;
use multihead::formats::{DType, TensorData, marian::MarianFile, shortlist::Shortlist};
use std::{fs, io::Write, path::PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file of a fetched model; without it a line that no output capture hides.
fn model_file(id: &str, name: &str) -> Option<LoggedFile> {
    let path = root().join("models").join(id).join(name);
    if path.exists() {
        return Some(LoggedFile::new(name, fs::read(path).unwrap()));
    }
    let line = format!("\nSKIPPED: models/{id}/{name} missing, run cargo xtask models\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

/// The rows of a fixture whose first column is `kind`, split into their other columns.
fn rows(id: &str, kind: &str) -> Vec<Vec<String>> {
    let path = root().join("tests/fixtures/formats").join(format!("{id}.tsv"));
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let rows = rows.filter_map(|mut row| (row.next()? == kind).then(|| row.collect()));
    rows.collect()
}

/// Sum over i of bits\[i\] · (i + 1), modulo 2^64.
fn digest(bits: impl IntoIterator<Item = u64>) -> u64 {
    let products = bits.into_iter().zip(1_u64..).map(|(bits, place)| bits.wrapping_mul(place));
    products.fold(0, u64::wrapping_add)
}

/// Digest, first and last value, multiplier, as the fixture has them.
fn summary(data: &TensorData, dtype: DType) -> [String; 4] {
    match data {
        TensorData::F32(values) => [
            digest(values.iter().map(|value| value.to_bits().into())).to_string(),
            values.first().unwrap().to_bits().to_string(),
            values.last().unwrap().to_bits().to_string(),
            "-".to_owned(),
        ],
        TensorData::Int8 { values, multiplier } => [
            digest(values.iter().map(|value| value.cast_unsigned().into())).to_string(),
            values.first().unwrap().to_string(),
            values.last().unwrap().to_string(),
            match dtype {
                DType::Intgemm8 => multiplier.to_bits().to_string(),
                _ => "-".to_owned(),
            },
        ],
        TensorData::Stored(_) => panic!("Marian has no such tensors"),
    }
}

fn check_tensors(id: &str, name: &str) {
    let Some(file) = model_file(id, name) else { return };
    let reads = file.reads.clone();
    let model = MarianFile::open(Box::new(file)).unwrap();
    let read: u64 = reads.lock().unwrap().iter().map(|range| range.end - range.start).sum();
    assert!(read < 16_000, "{read} bytes read to open the model");

    let rows = rows(id, "tensor");
    assert_eq!(model.tensors().len(), 195);
    assert_eq!(rows.len(), 195);
    for (tensor, row) in model.tensors().iter().zip(rows) {
        let code = match tensor.dtype {
            DType::F32 => "0x404",
            DType::Intgemm8 => "0x4101",
            DType::Int8 => "0x101",
            other => panic!("{other} is no type of Marian's"),
        };
        let shape: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
        let start = tensor.bytes.start.to_string();
        let elements = tensor.num_elements().to_string();
        let head = [&tensor.name, code, &shape.join(","), &start, &elements];
        assert_eq!(row[..5], head);
        assert_eq!(row[5..], summary(&model.read(tensor).unwrap(), tensor.dtype), "{head:?}");
        assert_eq!(model.find(&tensor.name), Some(tensor));
    }

    let config = model.config();
    assert_eq!(config.integer("dim-emb").unwrap(), Some(256));
    assert_eq!(config.integer("enc-depth").unwrap(), Some(6));
    assert_eq!(config.integers("dim-vocabs").unwrap(), Some(vec![32000, 32000]));
    assert_eq!(config.string("transformer-decoder-autoreg").unwrap(), Some("rnn"));
    assert_eq!(config.string("transformer-preprocess").unwrap(), Some(""));
    assert_eq!(config.boolean("tied-embeddings-all").unwrap(), Some(true));
    assert_eq!(config.list("input-types").unwrap(), Some(vec![]));
}

fn check_lists(id: &str, name: &str) {
    let Some(file) = model_file(id, name) else { return };
    let shortlist = Shortlist::open(&file).unwrap();
    assert_eq!(shortlist.source_len(), 32000);
    assert_eq!(shortlist.max_target_id(), Some(31999));
    assert_eq!((shortlist.first_num(), shortlist.best_num()), (50, 50));
    let rows = rows(id, "list");
    assert_eq!(rows.len(), 10);
    for row in rows {
        let ids = row[0].split(',').filter(|id| !id.is_empty());
        let source: Vec<u32> = ids.map(|id| id.parse().unwrap()).collect();
        let candidates = shortlist.candidates(&source, 32000);
        let copied = shortlist.candidates_with_source(&source, 32000);
        let summary = [candidates, copied]
            .map(|ids| [ids.len().to_string(), digest(ids.into_iter().map(u64::from)).to_string()]);
        assert_eq!(row[1..], summary.concat(), "{source:?}");
    }
}

#[test]
fn en_pt_tensors() {
    check_tensors("en-pt", "model.enpt.intgemm.alphas.bin");
}

#[test]
fn pt_en_tensors() {
    check_tensors("pt-en", "model.pten.intgemm.alphas.bin");
}

#[test]
fn en_pt_shortlist() {
    check_lists("en-pt", "lex.50.50.enpt.s2t.bin");
}

#[test]
fn pt_en_shortlist() {
    check_lists("pt-en", "lex.50.50.pten.s2t.bin");
}
