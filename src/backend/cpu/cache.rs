//! Keys and values that a decoder remembers of one sequence, a row a token: in one piece, or in pages.
//!
//! Pages are never moved and have one size, so a cache grows by what it needs and is not copied for it; copies of a cache
//! share their pages until one of them writes to the last.

use super::lanes::{ByteDot, Lanes};
use super::quantize::{QuantizedRows, RowForm, RowQuant};
use super::tensor::Tensor;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Rows of a page.
pub const PAGE: usize = 32;
/// Whether there are caches in pages: what only translates is built without them.
pub const PAGED: bool = cfg!(feature = "text");

/// Rows of keys and values.
#[derive(Debug, Clone)]
pub struct Cache {
    rows: usize,
    columns: usize,
    store: Store,
}

#[derive(Debug, Clone)]
enum Store {
    Whole(Tensor),
    Floats(Vec<Arc<Vec<f32>>>),
    Int8 { head_dim: usize, pages: Vec<Arc<Int8Page>> },
}

#[derive(Debug, Clone)]
struct Int8Page {
    /// `[PAGE, columns]`
    codes: Vec<i8>,
    /// `[PAGE, columns / head_dim]`: value = code · scale.
    scales: Vec<f32>,
}

/// The key or the value of one head in one row.
#[derive(Debug, Clone, Copy)]
pub enum Head<'a> {
    /// As it is.
    Floats(&'a [f32]),
    /// Codes and what they are multiplied by.
    Int8(&'a [i8], f32),
}

impl Cache {
    /// Float32 in one piece, in a recycled buffer whose room doubles: for short sequences, of which there are many.
    pub fn whole(columns: usize) -> Self {
        Self { rows: 0, columns, store: Store::Whole(Tensor::stale(0, columns)) }
    }

    /// Float32 in pages.
    pub fn pages(columns: usize) -> Self {
        Self { rows: 0, columns, store: Store::Floats(Vec::new()) }
    }

    /// Int8 in pages, with a scale for each `head_dim` columns.
    pub fn int8(columns: usize, head_dim: usize) -> Self {
        let head_dim = head_dim.max(1);
        Self { rows: 0, columns, store: Store::Int8 { head_dim, pages: Vec::new() } }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Width of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows, if they are in one piece.
    pub fn tensor(&self) -> Option<&Tensor> {
        match &self.store {
            Store::Whole(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Columns that share a scale, of int8.
    pub fn head_dim(&self) -> Option<usize> {
        match &self.store {
            Store::Int8 { head_dim, .. } => Some(*head_dim),
            _ => None,
        }
    }

    /// Bytes of the rows and of the room for more in their pages; shared pages count in every copy.
    pub fn bytes(&self) -> usize {
        match &self.store {
            Store::Whole(tensor) => size_of_val(tensor.values()),
            Store::Floats(pages) => pages.len() * PAGE * self.columns * size_of::<f32>(),
            Store::Int8 { head_dim, pages } => {
                let scales = self.columns.checked_div(*head_dim).unwrap_or(0) * size_of::<f32>();
                pages.len() * PAGE * (self.columns + scales)
            }
        }
    }

    /// Adds `values`, `[columns]`, below the last row. `quantized` is room for what becomes int8.
    ///
    /// # Errors
    /// [`Error::Internal`] for another number of values, [`Error::OutOfMemory`].
    pub fn push<L: Lanes>(&mut self, values: &[f32], quantized: &mut QuantizedRows) -> Result<()> {
        let columns = self.columns;
        let wrong = || Error::Internal { what: format!("a row of {} for {columns}", values.len()) };
        if values.len() != columns {
            return Err(wrong());
        }
        let (index, row) = (self.rows / PAGE, self.rows % PAGE);
        match &mut self.store {
            Store::Whole(tensor) => {
                if !tensor.push_row(values) {
                    return Err(wrong());
                }
            }
            _ if !PAGED => return Err(wrong()),
            Store::Floats(pages) => {
                let page = page(pages, index, || zeros(PAGE * columns))?;
                let to = page.get_mut(row * columns..(row + 1) * columns).ok_or_else(wrong)?;
                to.copy_from_slice(values);
            }
            Store::Int8 { head_dim, pages } => {
                let head_dim = *head_dim;
                let heads = columns.checked_div(head_dim).ok_or_else(wrong)?;
                let form = RowForm::Bytes(ByteDot::Signed);
                quantized.quantize::<L>(values, head_dim, RowQuant::PerRow, form);
                let page = page(pages, index, || {
                    Ok(Int8Page { codes: zeros(PAGE * columns)?, scales: zeros(PAGE * heads)? })
                })?;
                let codes = page.codes.get_mut(row * columns..(row + 1) * columns);
                let scales = page.scales.get_mut(row * heads..(row + 1) * heads);
                let (codes, scales) = codes.zip(scales).ok_or_else(wrong)?;
                let heads = codes.chunks_exact_mut(head_dim).zip(values.chunks_exact(head_dim));
                for (head, ((codes, values), scale)) in heads.zip(scales).enumerate() {
                    for (to, &from) in codes.iter_mut().zip(quantized.fours(head).as_flattened()) {
                        *to = from;
                    }
                    // What is no number stays none.
                    let is_finite = values.iter().all(|value| value.is_finite());
                    *scale = if is_finite { quantized.row_scale(head) } else { f32::NAN };
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        let pages_left = self.rows.div_ceil(PAGE);
        match &mut self.store {
            Store::Whole(tensor) => tensor.truncate(rows),
            _ if !PAGED => {}
            Store::Floats(pages) => pages.truncate(pages_left),
            Store::Int8 { pages, .. } => pages.truncate(pages_left),
        }
    }

    /// The `width` columns from `column` on in the row `row`; of int8 they are a head's. Empty where there are none.
    #[inline(always)]
    pub fn head(&self, row: usize, column: usize, width: usize) -> Head<'_> {
        let start = row % PAGE * self.columns + column;
        let codes = match &self.store {
            _ if row >= self.rows => None,
            Store::Whole(tensor) => {
                let start = row * self.columns + column;
                return Head::Floats(tensor.values().get(start..start + width).unwrap_or(&[]));
            }
            _ if !PAGED => None,
            Store::Floats(pages) => {
                let values = pages.get(row / PAGE).and_then(|page| page.get(start..start + width));
                return Head::Floats(values.unwrap_or(&[]));
            }
            Store::Int8 { head_dim, pages } => pages.get(row / PAGE).and_then(|page| {
                let codes = page.codes.get(start..start + width)?;
                Some(Head::Int8(codes, *page.scales.get(start / head_dim)?))
            }),
        };
        codes.unwrap_or(Head::Floats(&[]))
    }
}

/// The page `index`, which may be the next one; this cache's own from here on.
fn page<P: Clone>(
    pages: &mut Vec<Arc<P>>,
    index: usize,
    new: impl FnOnce() -> Result<P>,
) -> Result<&mut P> {
    if index == pages.len() {
        pages.push(Arc::new(new()?));
    }
    let page = pages.get_mut(index).map(Arc::make_mut);
    page.ok_or_else(|| Error::Internal { what: format!("page {index} of a cache") })
}

fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| Error::OutOfMemory {
        what: "keys and values of the tokens read; shorten the context window".to_owned(),
        bytes: (len * size_of::<T>()) as u64,
    })?;
    values.resize(len, T::default());
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Native;
    use super::*;
    use std::ops::Range;

    fn row(number: usize) -> [f32; 4] {
        let x = number as f32;
        [x, -127.0, 0.0, 2.0 * x]
    }

    fn filled(mut cache: Cache, rows: Range<usize>) -> Cache {
        let mut quantized = QuantizedRows::default();
        for number in rows {
            cache.push::<Native>(&row(number), &mut quantized).unwrap();
        }
        cache
    }

    /// The rows as float32.
    fn values(cache: &Cache) -> Vec<[f32; 4]> {
        let head = |row: usize, column: usize| -> [f32; 2] {
            let values: Vec<f32> = match cache.head(row, column, 2) {
                Head::Floats(values) => values.to_vec(),
                Head::Int8(codes, scale) => codes.iter().map(|&c| f32::from(c) * scale).collect(),
            };
            values.try_into().unwrap()
        };
        let row = |row: usize| {
            let ([a, b], [c, d]) = (head(row, 0), head(row, 2));
            [a, b, c, d]
        };
        (0..cache.rows()).map(row).collect()
    }

    fn kinds() -> [Cache; 3] {
        [Cache::whole(4), Cache::pages(4), Cache::int8(4, 2)]
    }

    #[test]
    fn rows_come_back() {
        for cache in kinds() {
            let cache = filled(cache, 0..100);
            assert_eq!(cache.rows(), 100);
            for (number, values) in values(&cache).into_iter().enumerate() {
                for (got, want) in values.into_iter().zip(row(number)) {
                    // Half a step of the largest of two columns.
                    assert!((got - want).abs() <= 0.5 + 1e-4, "row {number}: {got} {want}");
                }
            }
        }
        let whole = values(&filled(Cache::whole(4), 0..100));
        assert_eq!(values(&filled(Cache::pages(4), 0..100)), whole);
        // 127 is the largest magnitude of the first two columns, so they are integers there; 2 · 40 of the others.
        assert_eq!(values(&filled(Cache::int8(4, 2), 40..41))[0][..2], [40.0, -127.0]);
        let scaled = values(&filled(Cache::int8(4, 2), 40..41))[0];
        assert_eq!((scaled[2], scaled[3]), (0.0, 127.0 * (1.0 / (127.0 / 80.0))));
    }

    #[test]
    fn copies_share_pages_and_go_their_own_way() {
        for cache in kinds() {
            let mut one = filled(cache, 0..70);
            let two = filled(one.clone(), 200..230);
            one.truncate(50);
            let one = filled(one, 300..310);
            let numbers = |cache: &Cache| -> Vec<f32> {
                values(cache).into_iter().map(|row| row[0].round()).collect()
            };
            let expected = |parts: [Range<usize>; 2]| -> Vec<f32> {
                parts.into_iter().flatten().map(|number| number as f32).collect()
            };
            let close = |got: Vec<f32>, want: Vec<f32>| {
                assert_eq!(got.len(), want.len());
                let nearest = |(a, b): (&f32, &f32)| (a - b).abs() <= 2.0;
                assert!(got.iter().zip(&want).all(nearest), "{got:?}");
            };
            close(numbers(&two), expected([0..70, 200..230]));
            close(numbers(&one), expected([0..50, 300..310]));
        }
        let one = filled(Cache::pages(4), 0..70);
        let two = filled(one.clone(), 0..1);
        let (Store::Floats(a), Store::Floats(b)) = (&one.store, &two.store) else { panic!() };
        let shared: Vec<bool> = a.iter().zip(b).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
        assert_eq!(shared, [true, true, false]);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let mut cache = Cache::int8(4, 2);
        let mut quantized = QuantizedRows::default();
        cache.push::<Native>(&[1.0, f32::NAN, 1.0, 2.0], &mut quantized).unwrap();
        let row = values(&cache)[0];
        assert!(row[0].is_nan() && row[1].is_nan() && row[3] == 2.0);
        assert!(cache.push::<Native>(&[1.0; 3], &mut quantized).is_err());
    }

    #[test]
    fn int8_takes_little_more_than_a_quarter() {
        // 384 columns in heads of 64: 384 + 6 · 4 bytes for 384 · 4.
        let mut quantized = QuantizedRows::default();
        let [mut floats, mut int8] = [Cache::pages(384), Cache::int8(384, 64)];
        for cache in [&mut floats, &mut int8] {
            cache.push::<Native>(&[1.0; 384], &mut quantized).unwrap();
        }
        assert_eq!((floats.bytes(), int8.bytes()), (32 * 1536, 32 * 408));
    }
}
