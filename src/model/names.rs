//! Names of the tensors that a description needs, so that all that a file lacks is said at once.

#[cfg(feature = "recurrent")]
use super::ScoreSpec;
use super::{
    AttentionSpec, BlockSpec, DecoderSpec, EncoderDecoderSpec, EncoderSpec, HeadSpec, LinearSpec,
    MixerSpec, NormSpec, OutputSpec, Positions, QkvSpec, StackSpec, SublayerNorms,
};
use std::collections::BTreeSet;

impl LinearSpec {
    /// Names of every tensor that must be there.
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.weight.as_str()).chain(self.bias.as_deref())
    }
}

impl NormSpec {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.scale.as_str()).chain(self.bias.as_deref())
    }
}

impl SublayerNorms {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.before.iter().chain(&self.output).chain(&self.after).flat_map(NormSpec::names)
    }
}

impl QkvSpec {
    /// The matrices, in the order of their outputs.
    pub fn parts(&self) -> Vec<&LinearSpec> {
        match self {
            QkvSpec::Separate { q, k, v } => vec![q, k, v],
            QkvSpec::Fused(qkv) => vec![qkv],
            #[cfg(feature = "recurrent")]
            QkvSpec::Some { q, k, v } => [q, k, v].into_iter().flatten().collect(),
        }
    }
}

#[cfg(feature = "recurrent")]
impl ScoreSpec {
    fn names(&self) -> Option<&str> {
        match self {
            ScoreSpec::DotProduct => None,
            ScoreSpec::Additive { weight } => Some(weight),
        }
    }
}

impl AttentionSpec {
    fn names(&self) -> impl Iterator<Item = &str> {
        let head_norms = self.head_norms.iter().flat_map(|(q, k)| [q, k]);
        let factors = self.rotary.iter().filter_map(|rotary| rotary.factors.as_deref());
        let linear = self.qkv.parts().into_iter().chain(&self.out).flat_map(LinearSpec::names);
        let norms = self.norms.names().chain(head_norms.flat_map(NormSpec::names));
        #[cfg(feature = "recurrent")]
        let factors = factors.chain(self.score.names());
        linear.chain(norms).chain(factors)
    }
}

impl BlockSpec {
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.mixer {
            MixerSpec::SelfAttention(attention) => attention.names().collect(),
            MixerSpec::Ssru(ssru) => [&ssru.input, &ssru.forget]
                .into_iter()
                .chain(&ssru.out)
                .flat_map(LinearSpec::names)
                .chain(ssru.norms.names())
                .collect(),
            #[cfg(feature = "recurrent")]
            MixerSpec::Recurrent(recurrent) => {
                let directions = recurrent.directions.iter();
                directions
                    .flat_map(|one| [&one.input, &one.state])
                    .flat_map(LinearSpec::names)
                    .collect()
            }
        };
        names.extend(self.cross_attention.iter().flat_map(AttentionSpec::names));
        names.extend(self.mlp.gate.iter().chain(&self.mlp.layers).flat_map(LinearSpec::names));
        names.extend(self.mlp.norms.names());
        names
    }
}

impl StackSpec {
    fn names(&self) -> Vec<&str> {
        let mut names = vec![self.embedding.as_str()];
        if let Positions::Learned { table, segments, .. } = &self.config.positions {
            names.push(table);
            names.extend(segments.as_ref().map(|(table, _)| table.as_str()));
        }
        names.extend(self.relative.as_ref().map(|relative| relative.table.as_str()));
        let norms = self.embedding_norm.iter().chain(&self.final_norm);
        names.extend(norms.flat_map(NormSpec::names));
        names.extend(self.blocks.iter().flat_map(BlockSpec::names));
        names
    }
}

impl OutputSpec {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.table.as_str()).chain(self.bias.as_deref())
    }
}

/// Each name once, in the order of its first use.
fn once(mut names: Vec<&str>) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

impl EncoderDecoderSpec {
    /// Names of every tensor that the file must hold, each once, in the order of use.
    pub fn tensor_names(&self) -> Vec<&str> {
        let mut names = self.encoder.names();
        names.extend(self.decoder.names());
        names.extend(self.output.names());
        once(names)
    }
}

impl HeadSpec {
    fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for layer in &self.layers {
            names.extend(layer.linear.names());
            names.extend(layer.norm.iter().flat_map(NormSpec::names));
        }
        names.extend(self.output.iter().flat_map(OutputSpec::names));
        names
    }
}

impl EncoderSpec {
    /// Names of every tensor that the file must hold, each once, in the order of use.
    pub fn tensor_names(&self) -> Vec<&str> {
        let mut names = self.stack.names();
        names.extend(self.head.iter().flat_map(HeadSpec::names));
        once(names)
    }
}

impl DecoderSpec {
    /// Names of every tensor that the file must hold, each once, in the order of use.
    pub fn tensor_names(&self) -> Vec<&str> {
        let mut names = self.stack.names();
        names.extend(self.output.names());
        once(names)
    }
}
