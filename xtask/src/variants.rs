//! The variants of the wasm module. A module is rejected whole for one instruction that a browser lacks, so what not
//! every browser has comes in a module of its own, and the worker takes the best that its browser validates.

use crate::{
    process::run,
    wasm_toolchain::{TARGET, WasmToolchain},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// What a module can do. A page fetches the smallest that does what it asks for.
#[derive(Clone, Copy)]
pub struct Family {
    /// Beginning of the names of its files.
    prefix: &'static str,
    /// Features of the crate that it is built with.
    features: &'static str,
    /// Whether the CPU does the work: then it comes in every variant.
    is_for_cpus: bool,
}

impl Family {
    /// Features of the crate that it is built with.
    pub fn features(&self) -> &'static str {
        self.features
    }
}

/// One a kind of models, so that a page downloads what it asks for; and all kinds on the GPU, in the first variant only,
/// as the GPU does what the others would do faster.
pub const FAMILIES: [Family; 4] = [
    Family { prefix: "multihead", features: "translation", is_for_cpus: true },
    Family { prefix: "multihead_text", features: "text", is_for_cpus: true },
    Family { prefix: "multihead_encoder", features: "encoder", is_for_cpus: true },
    Family {
        prefix: "multihead_gpu",
        features: "gpu,translation,text,encoder",
        is_for_cpus: false,
    },
];

/// One way to compile the crate.
pub struct Variant {
    /// Part of the names of its files.
    pub name: &'static str,
    /// Target features beside those of `.cargo/config.toml`; none is the module that the tests run as well.
    features: &'static [&'static str],
    /// Whether its memory is shared with other workers. Then the standard library is compiled anew.
    shared_memory: bool,
}

pub const VARIANTS: [Variant; 3] = [
    Variant { name: "simd128", features: &[], shared_memory: false },
    Variant { name: "relaxed", features: &["relaxed-simd"], shared_memory: false },
    Variant {
        name: "threads",
        features: &["relaxed-simd", "atomics", "bulk-memory", "mutable-globals"],
        shared_memory: true,
    },
];

/// A quarter of the compiler's choice, which every page would have in its memory; what runs deepest needs less than 64 KiB. The
/// same as in `.cargo/config.toml`. The stack comes first in memory: one that runs over is a trap.
const STACK: &str = "-Clink-arg=-zstack-size=262144";

/// Without these, memory is silently not shared. The exports are what wasm-bindgen starts a thread with.
/// 2 GiB: engines set the address space of the maximum aside at once, and some have no more.
const SHARED_MEMORY: [&str; 7] = [
    "--shared-memory",
    "--import-memory",
    "--max-memory=2147483648",
    "--export=__wasm_init_tls",
    "--export=__tls_size",
    "--export=__tls_align",
    "--export=__tls_base",
];

/// The variants of these names, all if there are none.
pub fn named(names: &[String]) -> Result<Vec<&'static Variant>> {
    let known = || VARIANTS.each_ref().map(|variant| variant.name).join(", ");
    for name in names {
        if !VARIANTS.iter().any(|variant| variant.name == name) {
            bail!("no variant {name:?}; there are: {}", known());
        }
    }
    let wanted =
        |variant: &&Variant| names.is_empty() || names.iter().any(|name| name == variant.name);
    Ok(VARIANTS.iter().filter(wanted).collect())
}

impl Variant {
    /// What is built of it.
    pub fn families(&self) -> impl DoubleEndedIterator<Item = Family> {
        let is_first = self.features.is_empty();
        FAMILIES.into_iter().filter(move |family| family.is_for_cpus || is_first)
    }

    /// Name of its files for a family, without their endings.
    pub fn file_name(&self, family: Family) -> String {
        format!("{}_{}", family.prefix, self.name)
    }

    /// Compiles it for a family; the path of the module that wasm-bindgen takes.
    pub fn compile(&self, workspace: &Workspace, family: Family) -> Result<PathBuf> {
        let toolchain = match self.shared_memory {
            true => WasmToolchain::find_with_sources(workspace),
            false => WasmToolchain::find(workspace),
        };
        let toolchain = toolchain.context("run cargo xtask setup first")?;
        let mut cargo = toolchain.command(workspace, "cargo")?;
        cargo.args(["build", "--package", "multihead", "--lib", "--release", "--target", TARGET]);
        cargo.args(["--no-default-features", "--features", family.features]);
        let mut target = toolchain.target_dir(workspace);
        if !self.features.is_empty() {
            // Flags in the environment take the place of those in the configuration.
            cargo.env("RUSTFLAGS", self.flags().join(" "));
            target = target.join(self.name);
            cargo.env("CARGO_TARGET_DIR", &target);
        }
        if self.shared_memory {
            cargo.args(["-Z", "build-std=std,panic_abort"]);
            // Lets a stable compiler take -Z, and wasm-bindgen's library see that there are atomics.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        run(&mut cargo)?;
        Ok(target.join(TARGET).join("release/multihead.wasm"))
    }

    fn flags(&self) -> Vec<String> {
        let features = ["simd128"].iter().chain(self.features).map(|name| format!("+{name}"));
        let features = features.collect::<Vec<_>>().join(",");
        let mut flags = vec![format!("-Ctarget-feature={features}"), STACK.to_owned()];
        if self.shared_memory {
            flags.extend(SHARED_MEMORY.iter().map(|argument| format!("-Clink-arg={argument}")));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_variant_is_an_error_that_lists_the_known() {
        assert_eq!(named(&[]).unwrap().len(), 3);
        assert_eq!(named(&["relaxed".to_owned()]).unwrap()[0].name, "relaxed");
        let names = |variant: &Variant| -> Vec<String> {
            variant.families().map(|family| variant.file_name(family)).collect()
        };
        assert_eq!(
            names(&VARIANTS[0]),
            [
                "multihead_simd128",
                "multihead_text_simd128",
                "multihead_encoder_simd128",
                "multihead_gpu_simd128"
            ]
        );
        assert_eq!(
            names(&VARIANTS[2]),
            ["multihead_threads", "multihead_text_threads", "multihead_encoder_threads"]
        );
        let error = named(&["avx".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("simd128, relaxed, threads"), "{error}");
    }

    #[test]
    fn flags_have_every_feature_and_share_memory_only_where_threads_are() {
        let flags = VARIANTS.each_ref().map(Variant::flags);
        assert_eq!(flags[1], ["-Ctarget-feature=+simd128,+relaxed-simd", STACK]);
        let configuration = include_str!("../../.cargo/config.toml");
        assert!(configuration.contains(STACK));
        assert!(flags[2][0].contains("+simd128,+relaxed-simd,+atomics"));
        assert!(flags[2].contains(&"-Clink-arg=--shared-memory".to_owned()));
    }
}
