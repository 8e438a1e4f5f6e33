//! Attention that a caller asks for: what of it a model has, what it takes, and its weights.

use crate::error::{Error, Result};
use crate::ops::Ops;

/// Most bytes that the attention of all texts of a call may take.
const MOST_BYTES: u64 = 256 << 20;

const NAME: &str = "attention";

/// Who looks at whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionKind {
    /// Source tokens at source tokens.
    Encoder,
    /// Tokens that are written at those before them.
    Decoder,
    /// Tokens that are written at source tokens.
    Cross,
}

/// Something for each kind of attention, in their order.
pub type OfKinds<T> = [T; 3];

/// What they are called.
pub const KINDS: OfKinds<&str> = ["encoder", "decoder", "cross"];

/// What of a model's attention is wanted; an empty list stands for all that there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttentionRequest {
    /// Kinds; those that a model lacks may not be named.
    pub kinds: Vec<AttentionKind>,
    /// Layers, counted from 0, of each kind asked for.
    pub layers: Vec<usize>,
    /// Heads, counted from 0.
    pub heads: Vec<usize>,
}

/// Layers and heads of a kind that are wanted; none of a kind that is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// In the order asked for.
    pub layers: Vec<usize>,
    /// In the order asked for.
    pub heads: Vec<usize>,
}

/// Weights of one kind: for each query a distribution over the keys that it sees, and 0 for those that it does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttentionWeights {
    /// `[layers, heads, queries, keys]`
    pub weights: Vec<f32>,
    /// Which layers and heads those are.
    pub of: Wanted,
    /// Queries and keys.
    pub lens: [usize; 2],
}

/// The attention of one text; without what was not asked for.
pub type Attention = OfKinds<AttentionWeights>;

impl AttentionRequest {
    /// What is wanted of a model that has so many `[layers, heads]` of each kind.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a layer, a head or a kind that the model does not have, and for a layer or a head that
    /// is named twice.
    pub fn of(&self, has: OfKinds<[usize; 2]>) -> Result<OfKinds<Wanted>> {
        let mut wanted = OfKinds::<Wanted>::default();
        let all = [AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross];
        for (((kind, name), has), wanted) in all.iter().zip(KINDS).zip(has).zip(&mut wanted) {
            let is_named = self.kinds.contains(kind);
            let missing = has.contains(&0);
            if missing && is_named {
                return Err(invalid(format!("kind '{name}': the model has no such attention")));
            }
            if missing || !(is_named || self.kinds.is_empty()) {
                continue;
            }
            let [layers, heads] = has;
            wanted.layers = chosen(&self.layers, layers, name, "layer")?;
            wanted.heads = chosen(&self.heads, heads, name, "head")?;
        }
        Ok(wanted)
    }
}

fn chosen(asked: &[usize], count: usize, kind: &str, what: &str) -> Result<Vec<usize>> {
    let mut seen = vec![false; count];
    for index in asked {
        if let Some(seen) = seen.get_mut(*index)
            && std::mem::replace(seen, true)
        {
            return Err(invalid(format!("{what} {index} is there twice")));
        }
    }
    match asked.iter().find(|index| **index >= count) {
        Some(index) => {
            let many = if count == 1 { "" } else { "s" };
            let has = format!("'{kind}' has {count} {what}{many}, counted from 0");
            Err(invalid(format!("{what} {index}: {has}")))
        }
        None if asked.is_empty() => Ok((0..count).collect()),
        None => Ok(asked.to_vec()),
    }
}

fn invalid(what: String) -> Error {
    Error::InvalidArgument { option: NAME, what }
}

/// Whether there is room for the weights that are wanted of texts, all of them together, whose kinds have so many `[queries,
/// keys]`.
///
/// # Errors
/// [`Error::TooMuch`] where it would be more than there may be.
pub fn check_room(
    wanted: &OfKinds<Wanted>,
    texts: impl IntoIterator<Item = OfKinds<[usize; 2]>>,
) -> Result<()> {
    let sizes = texts.into_iter().flat_map(|lens| wanted.iter().zip(lens));
    let sizes = sizes.map(|(Wanted { layers, heads }, [queries, keys])| {
        let counts = [layers.len(), heads.len(), queries, keys];
        counts.iter().fold(4, |bytes: u64, &count| bytes.saturating_mul(count as u64))
    });
    match sizes.fold(0, u64::saturating_add) {
        bytes if bytes > MOST_BYTES => Err(Error::TooMuch { option: NAME, bytes }),
        _ => Ok(()),
    }
}

/// Tokens of a text that looks at itself whose weights have room, of as many layers and heads as are wanted.
pub fn most_tokens(Wanted { layers, heads }: &Wanted) -> usize {
    let each = 4 * (layers.len() * heads.len()).max(1) as u64;
    (MOST_BYTES / each).isqrt() as usize
}

/// Room for the weights that are wanted of a text whose kinds have so many `[queries, keys]`.
///
/// # Errors
/// [`Error::TooMuch`] before anything is allocated, where it would be more than there may be.
pub fn room(wanted: &OfKinds<Wanted>, lens: OfKinds<[usize; 2]>) -> Result<Attention> {
    check_room(wanted, [lens])?;
    let mut attention = Attention::default();
    for ((to, wanted), lens) in attention.iter_mut().zip(wanted).zip(lens) {
        let count = wanted.layers.len() * wanted.heads.len() * lens[0] * lens[1];
        to.weights
            .try_reserve_exact(count)
            .map_err(|_| Error::TooMuch { option: NAME, bytes: 4 * count as u64 })?;
        to.weights.resize(count, 0.0);
        (to.of, to.lens) = (wanted.clone(), lens);
    }
    Ok(attention)
}

impl AttentionWeights {
    /// Takes what a layer gave, `[rows · heads, keys so far]`, for the queries from `first` on.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn take<O: Ops>(
        &mut self,
        ops: &mut O,
        (layer, weights): (usize, O::Tensor),
        first: usize,
    ) -> Result<()> {
        let (_, columns) = ops.shape(&weights);
        let mut values = Vec::new();
        ops.read(&weights, &mut values).await?;
        let ([queries, keys], heads) = (self.lens, self.of.heads.len());
        let Some(place) = self.of.layers.iter().position(|one| *one == layer) else {
            return Ok(());
        };
        for (index, row) in values.chunks_exact(columns.max(1)).enumerate() {
            let (query, head) = (first + index / heads.max(1), index % heads.max(1));
            let start = ((place * heads + head) * queries + query) * keys;
            let to = self.weights.get_mut(start..).unwrap_or_default();
            // Keys that are not there yet keep their 0.
            for (to, from) in to.iter_mut().zip(row) {
                *to = *from;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // as in any test
mod tests {
    use super::*;

    const HAS: OfKinds<[usize; 2]> = [[6, 8], [0, 0], [2, 8]];

    fn request(kinds: &[AttentionKind], layers: &[usize], heads: &[usize]) -> AttentionRequest {
        let (kinds, layers, heads) = (kinds.to_vec(), layers.to_vec(), heads.to_vec());
        AttentionRequest { kinds, layers, heads }
    }

    #[test]
    fn all_is_what_there_is() {
        let [encoder, decoder, cross] = AttentionRequest::default().of(HAS).unwrap();
        assert_eq!((encoder.layers.len(), encoder.heads.len()), (6, 8));
        assert_eq!(decoder, Wanted::default());
        assert_eq!(cross.layers, [0, 1]);
        let some = request(&[AttentionKind::Encoder], &[5, 0], &[7]);
        let [encoder, _, cross] = some.of(HAS).unwrap();
        assert_eq!(
            (encoder.layers, encoder.heads, cross),
            (vec![5, 0], vec![7], Wanted::default())
        );
    }

    #[test]
    fn what_a_model_lacks_is_named() {
        for (asked, what) in [
            (request(&[], &[2], &[]), "attention: layer 2: 'cross' has 2 layers"),
            (request(&[AttentionKind::Encoder], &[6], &[]), "layer 6: 'encoder' has 6 layers"),
            (request(&[], &[], &[8]), "head 8: 'encoder' has 8 heads"),
            (request(&[AttentionKind::Decoder], &[], &[]), "kind 'decoder'"),
            (request(&[], &[1, 0, 1], &[]), "layer 1 is there twice"),
            (request(&[], &[], &[0, 0]), "head 0 is there twice"),
        ] {
            let error = asked.of(HAS).unwrap_err();
            assert_eq!((error.code(), error.option()), ("invalid-argument", Some("attention")));
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn too_much_is_said_before_it_is_allocated() {
        let wanted = AttentionRequest::default().of([[30, 9], [0, 0], [0, 0]]).unwrap();
        // 30 · 9 · 499² · 4 bytes are just above 256 MiB.
        let error = room(&wanted, [[499, 499], [0, 0], [0, 0]]).unwrap_err();
        assert_eq!((error.code(), error.option()), ("out-of-memory", Some("attention")));
        assert!(
            error.to_string().contains("268921080") && error.to_string().contains("heads"),
            "{error}"
        );
        assert!(room(&wanted, [[usize::MAX, usize::MAX], [0, 0], [0, 0]]).is_err());
        assert_eq!(most_tokens(&wanted[0]), 498);
        // A text alone has room, two have none.
        let text = [[400, 400], [0, 0], [0, 0]];
        assert!(check_room(&wanted, [text]).is_ok());
        let error = check_room(&wanted, [text; 2]).unwrap_err();
        assert!(error.to_string().contains("345600000"), "{error}");
        let [encoder, ..] = room(&wanted, [[2, 3], [0, 0], [0, 0]]).unwrap();
        assert_eq!(encoder.weights.len(), 30 * 9 * 6);
    }
}
