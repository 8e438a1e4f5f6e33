//! Rows of a table by token on the GPU.

use super::{check, check_table};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::gpu_weights::Matrix;
use crate::ops::linear::mismatch;
use crate::ops::{Stored, TableSource};
use std::{cell::RefCell, rc::Rc};

/// Rows by token, scaled, plus positions.
pub static EMBED: Kernel = Kernel {
    name: "embed",
    sources: &[include_str!("../weights.wgsl"), include_str!("embed.wgsl")],
    entry: "embed",
    bindings: &[Access::Read, Access::Read, Access::Data, Access::Read, Access::Write],
};

/// The same with tokens that are on the device.
pub static EMBED_CHOSEN: Kernel = Kernel {
    name: "embed/chosen",
    sources: &[include_str!("../weights.wgsl"), include_str!("embed.wgsl")],
    entry: "embed",
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
};

/// A table on the device, which output projections share.
pub struct GpuTable {
    pub(crate) name: String,
    pub(crate) matrix: Rc<Matrix>,
    /// How it was stored in the file.
    pub(crate) stored: Stored,
    /// The bias that an output projection of it had last, here and there: the next one has the same.
    bias: RefCell<Option<(Vec<f32>, Rc<Storage>)>>,
}

impl GpuTable {
    /// Puts it on the device.
    ///
    /// # Errors
    /// As [`check_table`], and those of the file that the weights are read of.
    pub fn load(gpu: &Gpu, source: &TableSource<'_>) -> Result<Self> {
        check_table(source)?;
        let TableSource { name, rows, columns, weights } = source;
        let matrix = Rc::new(Matrix::load(gpu, weights, *rows, *columns)?);
        Ok(Self { name: name.clone(), matrix, stored: weights.stored(), bias: RefCell::new(None) })
    }

    /// A bias of each row, zeros if `None`, on the device.
    pub(crate) fn bias(&self, gpu: &Gpu, bias: Option<&[f32]>) -> Rc<Storage> {
        let zeros;
        let bias = match bias {
            Some(bias) => bias,
            None => {
                zeros = vec![0.0; self.matrix.rows];
                &zeros
            }
        };
        let mut last = self.bias.borrow_mut();
        if let Some((values, storage)) = &*last
            && values == bias
        {
            return Rc::clone(storage);
        }
        let words: Vec<u32> = bias.iter().map(|value| value.to_bits()).collect();
        let storage = Rc::new(gpu.keep(&words));
        *last = Some((bias.to_vec(), Rc::clone(&storage)));
        storage
    }
}

impl Gpu {
    /// Records the rows of `tokens`.
    pub(crate) fn embedded(
        &self,
        table: &GpuTable,
        tokens: &[Option<u32>],
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        let matrix = &table.matrix;
        let shape = positions.map(|positions| [positions.rows(), positions.columns()]);
        check([matrix.rows, matrix.columns], tokens, shape)?;
        let y = self.stale(tokens.len(), matrix.columns);
        let tokens: Vec<u32> = tokens.iter().map(|token| token.unwrap_or(u32::MAX)).collect();
        self.record_embed(table, (&EMBED, Bind::Data(&tokens), [0, 1]), scale, positions, &y);
        Ok(y)
    }

    /// Records the rows of tokens that are on the device: every second word of `ids`, `rows` of them from the one of the
    /// row `first` on.
    pub(crate) fn embedded_ids(
        &self,
        table: &GpuTable,
        (ids, first, rows): (&Storage, usize, usize),
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        let expected = [rows, table.matrix.columns];
        let got = positions.map(|positions| [positions.rows(), positions.columns()]);
        if let Some(got) = got.filter(|got| *got != expected) {
            return Err(mismatch("embed positions", expected, got));
        }
        let y = self.stale(rows, table.matrix.columns);
        let tokens = (&EMBED_CHOSEN, Bind::Buffer(ids), [first as u32, 2]);
        self.record_embed(table, tokens, scale, positions, &y);
        Ok(y)
    }

    fn record_embed(
        &self,
        table: &GpuTable,
        (kernel, tokens, [first, stride]): (&'static Kernel, Bind<'_>, [u32; 2]),
        scale: f32,
        positions: Option<&Tensor>,
        y: &Tensor,
    ) {
        let matrix = &table.matrix;
        let [across, down] = self.limits().spread((y.rows() * y.columns()).div_ceil(64));
        for piece in &matrix.pieces {
            self.dispatch(&Dispatch {
                kernel,
                constants: &[
                    ("FORMAT", matrix.format.code()),
                    ("HAS_POSITIONS", u32::from(positions.is_some())),
                    ("TOKEN_STRIDE", stride),
                ],
                uniforms: &[
                    y.rows() as u32,
                    matrix.columns as u32,
                    piece.first_row as u32,
                    piece.rows as u32,
                    scale.to_bits(),
                    first,
                ],
                bindings: &[
                    Bind::Buffer(&piece.words),
                    Bind::Buffer(&piece.scales),
                    tokens,
                    Bind::Buffer(positions.map_or(&piece.scales, |positions| positions.storage())),
                    Bind::Buffer(y.storage()),
                ],
                workgroups: [across, down, 1],
            });
        }
    }
}
