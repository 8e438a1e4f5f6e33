//! Attention as JavaScript has it: what is asked for, in numbers; the weights with their tokens.

use super::error::set;
#[cfg(feature = "translation")]
use crate::tasks::attention::AttentionWeights;
use crate::tasks::attention::{AttentionKind, AttentionRequest, Wanted};
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
#[cfg(feature = "translation")]
pub fn weights(attention: &AttentionWeights) -> Object {
    object(&attention.weights, &attention.of, attention.lens.map(|len| len as u32))
}

/// `AttentionWeights` of the package; the tokens of queries and of keys are each a `Token[]`.
#[cfg(any(feature = "text", feature = "encoder"))]
pub fn weights_beside(weights: &[f32], of: &Wanted, queries: &Array, keys: &Array) -> Object {
    let object = object(weights, of, [queries.length(), keys.length()]);
    set(&object, "queryTokens", queries);
    set(&object, "keyTokens", keys);
    object
}

fn object(weights: &[f32], of: &Wanted, [query_len, key_len]: [u32; 2]) -> Object {
    let list = |list: &[usize]| list.iter().map(|index| JsValue::from(*index as f64)).collect();
    let (layers, heads): (Array, Array) = (list(&of.layers), list(&of.heads));
    let object = Object::new();
    set(&object, "weights", Float32Array::from(weights));
    set(&object, "layers", layers);
    set(&object, "heads", heads);
    set(&object, "queryLen", query_len);
    set(&object, "keyLen", key_len);
    object
}
