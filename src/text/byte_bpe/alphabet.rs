//! The printable stand-ins by which vocabularies of byte-level BPE write bytes (GPT-2, Radford et al. 2019).

/// The bytes that stand for themselves; all others, in order, are the characters from U+0100 on.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character that stands for a byte.
#[cfg(feature = "encoder")]
pub(crate) fn stand_in(byte: u8) -> char {
    if is_printable(byte) {
        return char::from(byte);
    }
    let others = (0..byte).filter(|&other| !is_printable(other)).count();
    char::from_u32(0x100 + others as u32).unwrap_or_default()
}

/// Reads stand-ins back as bytes.
pub(crate) struct Alphabet {
    /// The byte of each character below U+0144.
    bytes: [Option<u8>; 324],
}

impl Alphabet {
    pub fn new() -> Self {
        let mut bytes = [None; 324];
        let mut next = 256;
        for byte in 0..=u8::MAX {
            let code = if is_printable(byte) {
                usize::from(byte)
            } else {
                next += 1;
                next - 1
            };
            if let Some(slot) = bytes.get_mut(code) {
                *slot = Some(byte);
            }
        }
        Self { bytes }
    }

    /// Appends the bytes that `text` stands for. `false`, and nothing appended, where a character of it
    /// is no stand-in.
    pub fn decode(&self, text: &str, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        for c in text.chars() {
            match self.bytes.get(c as usize).copied().flatten() {
                Some(byte) => out.push(byte),
                None => {
                    out.truncate(start);
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Alphabet;

    #[test]
    fn a_space_is_g_with_a_dot_and_a_line_feed_c_with_one() {
        let mut out = Vec::new();
        // Printed in every GPT-2 vocabulary: Ġthe, Ċ; the no-break space, byte 0xa0, is the 67th of the others.
        assert!(Alphabet::new().decode("ĠaĊÃ©ł", &mut out));
        assert_eq!(out, b" a\n\xc3\xa9\xa0");
        assert!(!Alphabet::new().decode("a b", &mut out));
        assert_eq!(out.len(), 6);
    }

    #[test]
    #[cfg(feature = "encoder")]
    fn each_byte_is_read_back() {
        let mut out = Vec::new();
        let text: String = (0..=u8::MAX).map(super::stand_in).collect();
        assert!(Alphabet::new().decode(&text, &mut out));
        assert_eq!(out, Vec::from_iter(0..=u8::MAX));
    }
}
