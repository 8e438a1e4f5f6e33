//! Language models of any size that are in no file: weights at random, made as they are read.

#[allow(dead_code)] // the others are of other tests
#[path = "../formats_files/gguf.rs"]
mod gguf;

use gguf::{array, entry, string, strings, text, u32};
use multihead::error::Result;
use multihead::formats::ByteSource;
use std::{borrow::Cow, ops::Range};

const HIDDEN: u64 = 1024;
const INTERMEDIATE: u64 = 2816;
const KV_WIDTH: u64 = 256;
const VOCAB: u64 = 32_000;

/// ggml's code of a type, values of a block, and its bytes.
pub type Type = (u32, u64, u64);
const F32: Type = (0, 1, 4);
pub const Q4_0: Type = (2, 32, 18);
#[allow(dead_code)] // one test's
pub const Q5_0: Type = (6, 32, 22);
pub const Q8_0: Type = (8, 32, 34);
#[allow(dead_code)] // one test's
pub const Q6_K: Type = (14, 256, 210);

/// A model of Llama's shape whose output is tied to its embeddings.
pub struct Synthetic {
    head: Vec<u8>,
    len: u64,
}

impl Synthetic {
    /// At least `bytes` long: the table of Q8_0, the blocks' matrices of `types` in turn.
    pub fn new(bytes: u64, types: &[Type]) -> Self {
        let mut tensors = Tensors::default();
        tensors.add("token_embd.weight", &[HIDDEN, VOCAB], Q8_0);
        tensors.add("output_norm.weight", &[HIDDEN], F32);
        let mut blocks = 0;
        while tensors.len < bytes {
            let mut matrix = 0;
            let mut add = |part: &str, dims: &[u64]| {
                let dtype = if dims.len() == 1 { F32 } else { types[matrix % types.len()] };
                matrix += dims.len() - 1;
                tensors.add(&format!("blk.{blocks}.{part}.weight"), dims, dtype);
            };
            add("attn_norm", &[HIDDEN]);
            add("ffn_norm", &[HIDDEN]);
            add("attn_q", &[HIDDEN, HIDDEN]);
            add("attn_k", &[HIDDEN, KV_WIDTH]);
            add("attn_v", &[HIDDEN, KV_WIDTH]);
            add("attn_output", &[HIDDEN, HIDDEN]);
            add("ffn_gate", &[HIDDEN, INTERMEDIATE]);
            add("ffn_up", &[HIDDEN, INTERMEDIATE]);
            add("ffn_down", &[INTERMEDIATE, HIDDEN]);
            blocks += 1;
        }
        let tokens: Vec<String> = (0..VOCAB).map(|id| format!("word{id}")).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let entries = [
            string("general.architecture", "llama"),
            u32("llama.block_count", blocks),
            u32("llama.context_length", 2048),
            u32("llama.embedding_length", HIDDEN as u32),
            u32("llama.feed_forward_length", INTERMEDIATE as u32),
            u32("llama.attention.head_count", 16),
            u32("llama.attention.head_count_kv", (KV_WIDTH / 64) as u32),
            entry("llama.attention.layer_norm_rms_epsilon", 6, &1e-5f32.to_le_bytes()),
            string("tokenizer.ggml.model", "gpt2"),
            string("tokenizer.ggml.pre", "gpt-2"),
            strings("tokenizer.ggml.tokens", &tokens),
            entry("tokenizer.ggml.merges", 9, &array(8, 0, &[])),
        ];
        let mut head = [b"GGUF", &3_u32.to_le_bytes()[..]].concat();
        head.extend(tensors.count.to_le_bytes());
        head.extend((entries.len() as u64).to_le_bytes());
        head.extend(entries.concat());
        head.extend(&tensors.head);
        head.resize(head.len().next_multiple_of(32), 0);
        let len = head.len() as u64 + tensors.len;
        Self { head, len }
    }
}

#[derive(Default)]
struct Tensors {
    head: Vec<u8>,
    count: u64,
    /// Of their data.
    len: u64,
}

impl Tensors {
    fn add(&mut self, name: &str, dims: &[u64], (code, values, bytes): Type) {
        self.head.extend(text(name.as_bytes()));
        self.head.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|dim| self.head.extend(dim.to_le_bytes()));
        self.head.extend(code.to_le_bytes());
        self.head.extend(self.len.to_le_bytes());
        self.len += (dims.iter().product::<u64>() / values * bytes).next_multiple_of(32);
        self.count += 1;
    }
}

impl ByteSource for Synthetic {
    fn name(&self) -> &str {
        "synthetic.gguf"
    }

    fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of their own, as of a file that lies elsewhere.
    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        let head = self.head.get(range.start as usize..).unwrap_or_default();
        bytes.extend(head.iter().take((range.end - range.start) as usize));
        let start = range.start + bytes.len() as u64;
        bytes.extend((start..range.end).map(|at| {
            // Knuth's multiplier of a linear congruence. Without its second bit no number of any width is above 2.
            let mixed = at.wrapping_mul(6_364_136_223_846_793_005);
            (mixed >> 40) as u8 & 0xbf
        }));
        Ok(Cow::Owned(bytes))
    }
}
