//! Keys and values on their way into caches on the GPU.

use super::attention::gpu::GpuCache;
use super::{HeadArgs, Kept};
use crate::backend::gpu::{Gpu, Tensor};

impl Gpu {
    /// Records what becomes of the heads of `qkv`, and `qkv[query rows, column..]` of each segment as the new last rows of its
    /// cache: of a single sequence with heads to prepare in one call.
    pub(crate) fn remember(
        &self,
        qkv: &Tensor,
        heads: Option<&HeadArgs<'_, Self>>,
        kept: Kept<'_, GpuCache>,
    ) {
        let Kept { caches, segments, column } = kept;
        if let (Some(heads), [cache], [segment]) = (heads, &mut *caches, segments) {
            let width = |heads: usize, args: &HeadArgs<'_, Self>| heads.checked_mul(args.head_dim);
            let columns = cache.tokens.columns();
            let fits = (heads.norms.is_some() || heads.rotary.is_some())
                && segment.query_rows == (0..qkv.rows())
                && width(heads.num_heads, heads) == Some(column)
                && width(2 * heads.num_kv_heads, heads) == Some(columns)
                && column + columns == qkv.columns();
            if fits {
                let first = cache.tokens.rows();
                self.extend(&mut cache.tokens, qkv.rows());
                return self.prepare_heads(qkv, heads, Some((&cache.tokens, first)));
            }
        }
        if let Some(heads) = heads {
            self.prepare_heads(qkv, heads, None);
        }
        for (cache, segment) in caches.iter_mut().zip(segments) {
            self.append(&mut cache.tokens, qkv, segment.query_rows.clone(), column);
        }
    }
}
