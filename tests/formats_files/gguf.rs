//! Small GGUF files, written byte by byte from ggml's description of the format.

/// A tensor as the file has it.
#[derive(Clone)]
pub struct Tensor {
    pub name: Vec<u8>,
    pub dims: Vec<u64>,
    pub type_code: u32,
    /// Start of its data, counted from that of all data; `None`: behind the tensor before it.
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

impl Tensor {
    pub fn new(name: &str, type_code: u32, dims: &[u64], data: Vec<u8>) -> Self {
        Self { name: name.into(), dims: dims.to_vec(), type_code, offset: None, data }
    }

    pub fn f32(name: &str, dims: &[u64], values: &[f32]) -> Self {
        Self::new(name, 0, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }
}

/// A string: its length, its bytes.
pub fn text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

/// A key with a value of this type.
pub fn entry(key: &str, type_code: u32, value: &[u8]) -> Vec<u8> {
    [&text(key.as_bytes()), &type_code.to_le_bytes()[..], value].concat()
}

pub fn string(key: &str, value: &str) -> Vec<u8> {
    entry(key, 8, &text(value.as_bytes()))
}

pub fn u32(key: &str, value: u32) -> Vec<u8> {
    entry(key, 4, &value.to_le_bytes())
}

/// The value of an array: type and number of its elements, and these.
pub fn array(type_code: u32, count: u64, elements: &[u8]) -> Vec<u8> {
    [&type_code.to_le_bytes(), &count.to_le_bytes()[..], elements].concat()
}

pub fn strings(key: &str, texts: &[&str]) -> Vec<u8> {
    let elements: Vec<u8> = texts.iter().flat_map(|each| text(each.as_bytes())).collect();
    entry(key, 9, &array(8, texts.len() as u64, &elements))
}

/// A file of version 3 that ends with the data of its last tensor.
pub fn gguf(entries: &[Vec<u8>], tensors: &[Tensor]) -> Vec<u8> {
    aligned(entries, tensors, 32)
}

/// The same with another alignment, which an entry should give.
pub fn aligned(entries: &[Vec<u8>], tensors: &[Tensor], alignment: usize) -> Vec<u8> {
    let mut file = [b"GGUF", &3_u32.to_le_bytes()[..]].concat();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((entries.len() as u64).to_le_bytes());
    file.extend(entries.concat());
    let mut next = 0;
    let mut data = Vec::new();
    for tensor in tensors {
        file.extend(text(&tensor.name));
        file.extend((tensor.dims.len() as u32).to_le_bytes());
        tensor.dims.iter().for_each(|dim| file.extend(dim.to_le_bytes()));
        file.extend(tensor.type_code.to_le_bytes());
        file.extend(tensor.offset.unwrap_or(next as u64).to_le_bytes());
        data.resize(next, 0);
        data.extend(&tensor.data);
        next = data.len().next_multiple_of(alignment);
    }
    if !tensors.is_empty() {
        file.resize(file.len().next_multiple_of(alignment), 0);
    }
    file.extend(data);
    file
}

/// Keys of every kind, and tensors of three types.
pub fn small() -> Vec<u8> {
    let entries = [
        string("general.architecture", "llama"),
        u32("llama.block_count", 2),
        entry("x.i8", 1, &[0x80]),
        entry("x.yes", 7, &[1]),
        entry("x.f64", 12, &0.1_f64.to_le_bytes()),
        strings("tokens", &["a", "", "ção"]),
        entry("types", 9, &array(5, 2, &[1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF])),
        entry("nested", 9, &array(9, 2, &[array(0, 2, &[7, 9]), array(7, 1, &[0])].concat())),
    ];
    let tensors = [
        Tensor::f32("norm", &[2], &[0.5, -1.5]),
        Tensor::new("q8", 8, &[32, 2], (0..68).collect()),
        Tensor::new("half", 1, &[3, 1, 2], (0..12).collect()),
    ];
    gguf(&entries, &tensors)
}
