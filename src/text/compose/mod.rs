//! Unicode's composed form (NFC, UAX 15), which some tokenizers bring texts into, and where in the original each
//! byte of it comes from.
//!
//! Own tables of 6 KB compressed: the crate unicode-normalization adds 64.

mod table;

pub(crate) use table::Table;

/// The first character that composing may change, or that may compose with the one before.
const FIRST_TO_COMPOSE: char = '\u{300}';

/// A text in composed form.
pub struct Composed {
    /// The text.
    pub text: String,
    /// For each byte of the text the byte of the original that it comes from, and the original's length: of
    /// what changed, the place where the change begins.
    pub origin: Vec<u32>,
}

/// The composed form of `text`, if that is another text.
pub fn compose(text: &str) -> Option<Composed> {
    let plain = |c: char| c < FIRST_TO_COMPOSE;
    if text.chars().all(plain) {
        return None;
    }
    let table = Table::get();
    let joins = |c: char| !plain(c) && table.joins(c);
    let stays = |c: char| plain(c) || !table.changes(c);
    if text.chars().all(|c| !joins(c) && stays(c)) {
        return None;
    }
    let mut out = Composed {
        text: String::with_capacity(text.len()),
        origin: Vec::with_capacity(text.len() + 1),
    };
    let mut start = 0;
    let cuts = text.char_indices().skip(1).filter(|&(_, c)| !joins(c)).map(|(at, _)| at);
    for end in cuts.chain([text.len()]) {
        let part = text.get(start..end).unwrap_or_default();
        let mut characters = part.chars();
        let single = characters.next().is_some_and(stays) && characters.next().is_none();
        let composed = (!single).then(|| composed(table, part));
        match composed.filter(|composed| composed != part) {
            Some(composed) => {
                out.text.push_str(&composed);
                out.origin.resize(out.text.len(), start as u32);
            }
            None => {
                out.text.push_str(part);
                out.origin.extend((start..end).map(|at| at as u32));
            }
        }
        start = end;
    }
    out.origin.push(text.len() as u32);
    Some(out).filter(|out| out.text != text)
}

/// Takes a text apart, puts marks in order, and composes what can be.
fn composed(table: &Table, text: &str) -> String {
    let mut parts = Vec::with_capacity(text.len());
    for c in text.chars() {
        table.decompose(c, &mut parts);
    }
    for marks in parts.chunk_by_mut(|&a, &b| table.class(a) != 0 && table.class(b) != 0) {
        if marks.len() > 1 {
            put_in_order(table, marks);
        }
    }
    let mut out: Vec<char> = Vec::with_capacity(parts.len());
    // Where the last character of class 0 is in `out`, and the highest class behind it.
    let (mut starter, mut highest) = (None::<usize>, 0);
    for c in parts {
        let class = table.class(c);
        // A mark in between keeps the two apart, unless it is of a lower class.
        let reached = highest == 0 || highest < class;
        let base = starter.filter(|_| reached).and_then(|at| out.get_mut(at));
        if let Some(base) = base
            && let Some(joined) = table.compose(*base, c)
        {
            *base = joined;
            continue;
        }
        out.push(c);
        if class == 0 {
            (starter, highest) = (Some(out.len() - 1), 0);
        } else {
            highest = class;
        }
    }
    out.into_iter().collect()
}

/// Sorts by class, equals as they stand: by class and place, which is less code than a stable sort.
fn put_in_order(table: &Table, marks: &mut [char]) {
    let places = (0u64..).zip(marks.iter());
    let mut order: Vec<(u64, u64)> =
        places.map(|(at, &c)| (u64::from(table.class(c)) << 32 | at, u64::from(c))).collect();
    order.sort_unstable();
    for (mark, (_, code)) in marks.iter_mut().zip(order) {
        *mark = char::from_u32(code as u32).unwrap_or(*mark);
    }
}
