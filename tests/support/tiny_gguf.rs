//! A language model's fixture with what its tokenizer lacks.

/// `file` with the metadata `tokenizer.ggml.pre` and `tokenizer.ggml.merges`, none of them: each byte is a token.
pub fn with_tokenizer(file: &[u8]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let string =
        |key: &str, value: &str| [text(key), 8u32.to_le_bytes().to_vec(), text(value)].concat();
    let mut more = string("tokenizer.ggml.pre", "gpt-2");
    more.extend(text("tokenizer.ggml.merges"));
    // An array of strings, and how many.
    more.extend([9u32.to_le_bytes(), 8u32.to_le_bytes()].concat());
    more.extend(0u64.to_le_bytes());
    // The tensors after the metadata stay aligned.
    let rest = (more.len() + string("padding", "").len()).next_multiple_of(32);
    let padding = rest - more.len() - string("padding", "").len();
    more.extend(string("padding", &" ".repeat(padding)));
    // The number of entries follows magic, version and number of tensors.
    let (head, tail) = file.split_at(24);
    let count = u64::from_le_bytes(head[16..].try_into().unwrap()) + 3;
    [&head[..16], &count.to_le_bytes(), &more, tail].concat()
}
