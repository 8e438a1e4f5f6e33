//! Any bytes as a GGUF model: open it, look up every key, and read every tensor that it claims to have.

#![no_main]

use multihead::formats::{MemoryFile, gguf::GgufFile};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let file = MemoryFile::new("model.gguf", bytes.to_vec());
    match GgufFile::open(Box::new(file)) {
        Ok(model) => {
            let metadata = model.metadata();
            for (key, value) in metadata.iter() {
                assert_eq!(
                    metadata.get(key).map(|found| found.value_type()),
                    Some(value.value_type())
                );
                for error in [metadata.integer(key).err(), metadata.strings(key).err()] {
                    assert!(error.is_none_or(|error| error.to_string().contains(key)));
                }
            }
            for tensor in model.tensors() {
                assert_eq!(model.find(&tensor.name), Some(tensor));
                assert!(tensor.bytes.end <= bytes.len() as u64);
                if let Err(error) = model.read(tensor) {
                    assert_eq!(error.file(), Some("model.gguf"));
                }
            }
        }
        Err(error) => assert_eq!(error.file(), Some("model.gguf")),
    }
});
