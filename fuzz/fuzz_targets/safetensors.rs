//! Any bytes as a safetensors file: open it, and read every tensor that it claims to have.

#![no_main]

use multihead::formats::{MemoryFile, safetensors::SafetensorsFile};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let file = MemoryFile::new("model.safetensors", bytes.to_vec());
    match SafetensorsFile::open(Box::new(file)) {
        Ok(model) => {
            for tensor in model.tensors() {
                assert_eq!(model.find(&tensor.name), Some(tensor));
                assert!(tensor.bytes.end <= bytes.len() as u64);
                if let Err(error) = model.read(tensor) {
                    assert_eq!(error.file(), Some("model.safetensors"));
                }
            }
            assert!(model.others().iter().all(|other| other.offset <= bytes.len() as u64));
        }
        Err(error) => assert_eq!(error.file(), Some("model.safetensors")),
    }
});
