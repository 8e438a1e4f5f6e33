//! Linear maps on the GPU: weights laid out for the kernels, which kernel runs, its call.

use super::gpu_plan::{Choice, Plan, Shape, plan};
use super::{check, mismatch};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::gpu_weights::{Format, Matrix, Piece};

use crate::ops::norm::gpu::GpuNorm;
use crate::ops::{Activation, LinearPart};
use std::ops::Range;

/// Few rows, which are normalised on the way.
pub static FEW_ROWS: Kernel = Kernel {
    name: "linear/few rows",
    sources: &[
        include_str!("../weights.wgsl"),
        include_str!("../activation/activation.wgsl"),
        include_str!("tile.wgsl"),
        include_str!("few_rows.wgsl"),
    ],
    entry: "multiply",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
};

/// Many rows.
pub static TILED: Kernel = Kernel {
    name: "linear/tiled",
    sources: &[
        include_str!("../weights.wgsl"),
        include_str!("../activation/activation.wgsl"),
        include_str!("tile.wgsl"),
        include_str!("tiled.wgsl"),
    ],
    entry: "multiply",
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
};

/// Weights of matrices with the same input; their outputs lie side by side.
pub struct GpuLinear {
    in_features: usize,
    out_features: usize,
    /// Matrices with the column of `y` that their first row makes.
    matrices: Vec<(usize, Matrix)>,
    /// `[out_features]`, zeros where a matrix has none.
    bias: Storage,
}

/// What becomes of a sum, and its number in the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It is stored.
    Store,
    /// Its activation is.
    Activate(Activation),
    /// It is added to what is there.
    Add,
    /// The outputs are two halves g and u, of which `activation(g) · u` is stored.
    Gate(Activation),
}

impl Finish {
    /// `FINISH` of the kernels.
    pub fn code(self) -> u32 {
        match self {
            Self::Store => 0,
            Self::Activate(activation) | Self::Gate(activation) => activation_code(activation),
            Self::Add => 6,
        }
    }
}

/// The number of an activation in `activation.wgsl`.
pub fn activation_code(activation: Activation) -> u32 {
    match activation {
        Activation::Relu => 1,
        Activation::Swish => 2,
        Activation::Gelu => 3,
        Activation::GeluTanh => 4,
        Activation::Tanh => 5,
    }
}

impl GpuLinear {
    /// Puts the parts on the device; neighbours of the same format become one matrix.
    ///
    /// # Errors
    /// As [`check`], and those of the file that the weights are read of.
    pub fn load(gpu: &Gpu, in_features: usize, parts: &[LinearPart<'_>]) -> Result<Self> {
        let out_features = check(in_features, parts)?;
        let (mut matrices, mut bias, mut column) = (Vec::new(), Vec::new(), 0);
        let mut formats = Vec::with_capacity(parts.len());
        for part in parts {
            formats.push(Format::of(&part.weights));
            match &part.bias {
                Some(values) => bias.extend(values.iter().map(|value| value.to_bits())),
                None => bias.resize(bias.len() + part.out_features, 0),
            }
        }
        let mut rest = parts;
        for run in formats.chunk_by(|a, b| a == b) {
            let (parts, after) = rest.split_at(run.len().min(rest.len()));
            rest = after;
            let rows = parts.iter().map(|part| part.out_features).sum();
            let format = run.first().copied().unwrap_or(Format::F32);
            let matrix = Matrix::room(gpu, format, rows, in_features);
            let mut row = 0;
            for part in parts {
                matrix.fill(gpu, row, &part.weights, part.out_features)?;
                row += part.out_features;
            }
            matrices.push((column, matrix));
            column += rows;
        }
        Ok(Self { in_features, out_features, matrices, bias: gpu.keep(&bias) })
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }
}

/// A product of some rows with one matrix.
pub struct Product<'a> {
    /// `[x rows, in_features]`.
    pub x: &'a Tensor,
    /// Rows of `x`.
    pub rows: Range<usize>,
    /// What the rows go through first.
    pub norm: Option<&'a GpuNorm>,
    /// `[out_features, in_features]`.
    pub matrix: &'a Matrix,
    /// One value an output, from [`Product::first_bias`] on.
    pub bias: &'a Storage,
    /// Where those of this matrix start.
    pub first_bias: usize,
    /// `[rows, y columns]`.
    pub y: &'a Tensor,
    /// The column of `y` of the first output.
    pub first_column: usize,
    /// What becomes of the sums.
    pub finish: Finish,
}

impl Gpu {
    /// Records a product: `y[r, first_column + o] = finish(Σ_k norm(x)[r, k] · w[o, k] + bias[o])`. What it asks for of a
    /// norm or a gate the kernels of its plans take.
    pub(crate) fn multiply(&self, product: &Product<'_>) {
        for piece in &product.matrix.pieces {
            let shape = Shape { rows: product.rows.len(), outputs: piece.rows };
            let plan = plan(shape, &self.limits());
            self.multiply_piece(product, piece, plan);
        }
    }

    fn multiply_piece(&self, product: &Product<'_>, piece: &Piece, plan: Plan) {
        let Product { x, rows, norm, matrix, bias, y, finish, .. } = product;
        let uniforms = [
            rows.len() as u32,
            rows.start as u32,
            matrix.columns as u32,
            piece.rows as u32,
            y.columns() as u32,
            (product.first_column + piece.first_row) as u32,
            (product.first_bias + piece.first_row) as u32,
            norm.map_or(0.0, GpuNorm::eps).to_bits(),
        ];
        let (format, code) = (("FORMAT", matrix.format.code()), ("FINISH", finish.code()));
        let gate = ("GATE", u32::from(matches!(finish, Finish::Gate(_))));
        let [words, scales] = [&piece.words, &piece.scales].map(Bind::Buffer);
        let [bias, x, y] = [*bias, x.storage(), y.storage()].map(Bind::Buffer);
        let [across, down] = plan.workgroups;
        let workgroups = [across, down, 1];
        match plan.kernel {
            Choice::FewRows { x_rows, groups } => {
                let kind = norm.map_or(0, |norm| if norm.is_rms() { 1 } else { 2 });
                let parameters = norm.map_or(product.bias, GpuNorm::parameters);
                self.dispatch(&Dispatch {
                    kernel: &FEW_ROWS,
                    constants: &[
                        format,
                        code,
                        gate,
                        ("X_ROWS", x_rows),
                        ("GROUPS", groups),
                        ("NORM", kind),
                    ],
                    uniforms: &uniforms,
                    bindings: &[words, scales, bias, x, Bind::Buffer(parameters), y],
                    workgroups,
                });
            }
            Choice::Tiled { rows_each } => self.dispatch(&Dispatch {
                kernel: &TILED,
                constants: &[format, code, gate, ("ROWS_EACH", rows_each)],
                uniforms: &uniforms,
                bindings: &[words, scales, bias, x, y],
                workgroups,
            }),
        }
    }

    /// Records `y = finish(norm(x) · Wᵀ + b)`, in as few calls as the kernels allow.
    pub(crate) fn apply_linear(
        &self,
        x: &Tensor,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        y: &Tensor,
        finish: Finish,
    ) {
        let outputs = match finish {
            Finish::Gate(_) => weights.out_features / 2,
            _ => weights.out_features,
        };
        let fits = x.columns() == weights.in_features
            && norm.is_none_or(|norm| norm.columns() == x.columns())
            && (y.rows(), y.columns()) == (x.rows(), outputs);
        if !fits {
            let expected = [weights.in_features, outputs];
            let got = ([x.rows(), x.columns()], [y.rows(), y.columns()]);
            if finish != Finish::Add {
                self.clear(y.storage(), y.bytes());
            }
            return self.record_fault(mismatch("linear", expected, got));
        }
        let all = |takes: fn(Choice) -> bool| {
            let pieces = weights.matrices.iter().flat_map(|(_, matrix)| &matrix.pieces);
            let shapes = pieces.map(|piece| Shape { rows: x.rows(), outputs: piece.rows });
            shapes.into_iter().all(|shape| takes(plan(shape, &self.limits()).kernel))
        };
        if let (Some(norm), false) = (norm, all(Choice::takes_norm)) {
            let x = self.normalized(x, norm);
            return self.apply_linear(&x, None, weights, y, finish);
        }
        if let Finish::Gate(activation) = finish {
            let is_whole =
                weights.matrices.iter().map(|(_, matrix)| matrix.pieces.len()).sum::<usize>() == 1;
            if !is_whole || !all(Choice::takes_gate) {
                let both = self.stale(x.rows(), weights.out_features);
                self.apply_linear(x, norm, weights, &both, Finish::Store);
                return self.gate(&both, activation, y);
            }
        }
        for (column, matrix) in &weights.matrices {
            self.multiply(&Product {
                x,
                rows: 0..x.rows(),
                norm,
                matrix,
                bias: &weights.bias,
                first_bias: *column,
                y,
                first_column: *column,
                finish,
            });
        }
    }
}
