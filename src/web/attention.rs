//! Attention as JavaScript has it: what is asked for, in numbers; the weights with their tokens.

use super::error::set;
use crate::tasks::attention::{AttentionKind, AttentionRequest, AttentionWeights};
use js_sys::{Array, Float32Array, Object};
use wasm_bindgen::JsValue;

/// A request in which bit 0 of `kinds` stands for 'encoder', bit 1 for 'decoder', bit 2 for 'cross'; no bits, and empty
/// lists, for all.
pub fn request(kinds: u32, layers: &[u32], heads: &[u32]) -> AttentionRequest {
    let all = [AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross];
    let is_asked = |(bit, _): &(usize, AttentionKind)| kinds >> bit & 1 == 1;
    let indices = |list: &[u32]| list.iter().map(|index| *index as usize).collect();
    AttentionRequest {
        kinds: all.into_iter().enumerate().filter(is_asked).map(|(_, kind)| kind).collect(),
        layers: indices(layers),
        heads: indices(heads),
    }
}

/// `AttentionWeights` of the package, but for the tokens.
pub fn weights(attention: &AttentionWeights) -> Object {
    let list = |list: &[usize]| list.iter().map(|index| JsValue::from(*index as f64)).collect();
    let object = Object::new();
    let [query_len, key_len] = attention.lens;
    let (layers, heads): (Array, Array) = (list(&attention.of.layers), list(&attention.of.heads));
    set(&object, "weights", Float32Array::from(attention.weights.as_slice()));
    set(&object, "layers", layers);
    set(&object, "heads", heads);
    set(&object, "queryLen", query_len as f64);
    set(&object, "keyLen", key_len as f64);
    object
}

/// `AttentionWeights` of the package; `tokens` are queries and keys, a `Token[]`.
#[cfg(any(feature = "text", feature = "encoder"))]
pub fn weights_of(attention: &AttentionWeights, tokens: &Array) -> Object {
    let object = weights(attention);
    set(&object, "queryTokens", tokens);
    set(&object, "keyTokens", tokens);
    object
}
