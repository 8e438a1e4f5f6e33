//! Folders of encoders.

use multihead::formats::{ByteSource, MemoryFile, ModelFolder};
use std::collections::BTreeMap;
use std::path::Path;

/// Files of a model's folder by their path in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// All files of a folder but what is expected of it.
pub fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    read(folder, "", &mut files);
    files
}

fn read(folder: &Path, prefix: &str, files: &mut Files) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| {
        panic!("{}: {error}; models come by `cargo xtask models`", folder.display())
    });
    for entry in entries {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), files);
        } else if name != "expected.json" {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

/// The files as the library takes them.
pub fn as_folder(files: Files) -> ModelFolder {
    let source = |(name, bytes): (String, Vec<u8>)| {
        (name.clone(), Box::new(MemoryFile::new(name, bytes)) as Box<dyn ByteSource>)
    };
    ModelFolder::new(files.into_iter().map(source))
}

/// A folder as the library takes it.
pub fn folder(folder: &Path) -> ModelFolder {
    as_folder(files(folder))
}

/// IEEE half precision, little-endian.
pub fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-14),
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
