//! The fixtures of `tests/fixtures/text/json_tokenizer`, as make.py writes them.
#![allow(dead_code)] // each test file uses its part

use super::support::{fixture, json};
use multihead::text::json_tokenizer::{JsonTokenizer, Piece};

const FOLDER: &str = "text/json_tokenizer";

/// The names of all tokenizers there.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(fixture(FOLDER)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
    names.filter(|name| name != "texts").collect()
}

/// A tokenizer, with the rules that its file leaves out put back.
pub fn open(name: &str) -> JsonTokenizer {
    let text = std::fs::read_to_string(fixture(&format!("{FOLDER}/{name}.json"))).unwrap();
    let text = with_charsmap(&text);
    JsonTokenizer::read(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The file with the rules put where they are left out.
pub fn with_charsmap(file: &str) -> String {
    let key = "\"precompiled_charsmap\":";
    let (empty, full) = (format!("{key}\"\""), format!("{key}\"{}\"", charsmap()));
    file.replace(&empty, &full)
}

pub fn texts() -> Vec<String> {
    serde_json::from_value(json(&fixture(&format!("{FOLDER}/texts.json")))).unwrap()
}

/// For each text the two digests.
pub fn expected(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(fixture(&format!("{FOLDER}/expected.tsv"))).unwrap();
    let row = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    row.unwrap_or_else(|| panic!("no {name}")).split('\t').map(str::to_owned).collect()
}

/// The two digests of a text, as make.py has them: ids and places; those of 12 tokens, and the decoded text.
pub fn digests(tokenizer: &JsonTokenizer, text: &str) -> String {
    let whole = tokenizer.encode(text, None).pieces;
    let short = tokenizer.encode(text, Some(12)).pieces;
    let ids: Vec<u32> = whole.iter().map(|piece| piece.id).collect();
    let written = [true, false].map(|skip| tokenizer.decode(&ids, skip)).concat();
    let second = [numbers(&short), written.bytes().map(u32::from).collect()].concat();
    [digest(&numbers(&whole)), digest(&second)].join(" ")
}

/// Ids, then start, end and word of each.
pub fn numbers(pieces: &[Piece]) -> Vec<u32> {
    let ids = pieces.iter().map(|piece| piece.id);
    let places = pieces.iter().flat_map(|piece| {
        [piece.range.start as u32, piece.range.end as u32, piece.word.unwrap_or(u32::MAX)]
    });
    ids.chain(places).collect()
}

/// Count of the numbers and FNV-1a over them, as the script has it.
fn digest(numbers: &[u32]) -> String {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let hashed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{}:{:08x}", numbers.len(), (hashed >> 32) as u32 ^ hashed as u32)
}

/// The replacement rules of `nmt_nfkc` in base64, out of a `.spm` file: field 2 of its field 3.
fn charsmap() -> String {
    let spm = std::fs::read(fixture("text/unigram_nmt.spm")).unwrap();
    let rules = field(field(&spm, 3).unwrap(), 2).unwrap();
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in rules.chunks(3) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0, |bits, (at, &byte)| bits | usize::from(byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = char::from(letters[bits >> (18 - 6 * at) & 63]);
            out.push(if at <= group.len() { letter } else { '=' });
        }
    }
    out
}

/// The first length-delimited field of that number in a protocol buffer of such fields, varints and fixed32.
fn field(mut bytes: &[u8], wanted: u64) -> Option<&[u8]> {
    let varint = |bytes: &mut &[u8]| {
        let (mut number, mut shift) = (0, 0);
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            number |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                break;
            }
        }
        number
    };
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                varint(&mut bytes);
                0
            }
            2 => varint(&mut bytes) as usize,
            _ => 4,
        };
        let (value, rest) = bytes.split_at(length);
        if tag == wanted << 3 | 2 {
            return Some(value);
        }
        bytes = rest;
    }
    None
}
