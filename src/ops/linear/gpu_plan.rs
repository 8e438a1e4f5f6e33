//! Which kernel a product runs on, and how many workgroups of it.

use crate::backend::gpu::Limits;

/// What a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of `x`.
    pub rows: usize,
    /// Rows of the matrix, or of a piece of it.
    pub outputs: usize,
}

/// How a product is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Which kernel.
    pub kernel: Choice,
    /// Workgroups in x and y.
    pub workgroups: [u32; 2],
}

/// Kernels of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// `few_rows.wgsl`: every weight is read once for all rows.
    FewRows {
        /// Rows that there is room for: 1, 2, 4 or 8.
        x_rows: u32,
        /// Sixteens of outputs of a workgroup: 1, 2, 4 or 8, with `x_rows` at most 8.
        groups: u32,
    },
    /// `tiled.wgsl`.
    Tiled {
        /// Sixteenths of the rows of a tile: 1 to 4.
        rows_each: u32,
    },
}

impl Choice {
    /// Whether it normalises its rows itself (`Product::norm`).
    pub fn takes_norm(self) -> bool {
        matches!(self, Self::FewRows { .. })
    }

    /// Whether it multiplies the halves of its outputs itself (`Finish::Gate`).
    pub fn takes_gate(self) -> bool {
        match self {
            Self::FewRows { .. } | Self::Tiled { .. } => true,
        }
    }
}

/// Rows that [`Choice::FewRows`] takes at most.
const FEW_ROWS: usize = 8;

/// Outputs of a workgroup of [`Choice::FewRows`]; of a gate as many values of each half as half of them.
const FEW_ROWS_OUTPUTS: usize = 16;

/// The same of [`Choice::Tiled`].
const TILED_OUTPUTS: usize = 64;

/// The kernel of a product, and its workgroups.
pub fn plan(shape: Shape, limits: &Limits) -> Plan {
    let Shape { rows, outputs } = shape;
    if rows <= FEW_ROWS {
        let x_rows = rows.next_power_of_two();
        let of = |groups: usize| outputs.div_ceil(FEW_ROWS_OUTPUTS * groups);
        // What each workgroup does first, to read and normalise the rows, is done less often with more outputs each.
        let fits = |groups: &usize| *groups == 1 || of(*groups) >= 2 * limits.busy;
        let groups =
            [8, 4, 2, 1].into_iter().filter(|groups| groups * x_rows <= FEW_ROWS).find(fits);
        let groups = groups.unwrap_or(1);
        let workgroups = limits.spread(if rows == 0 { 0 } else { of(groups) });
        let kernel = Choice::FewRows { x_rows: x_rows as u32, groups: groups as u32 };
        return Plan { kernel, workgroups };
    }
    let across = outputs.div_ceil(TILED_OUTPUTS);
    let tiles = |each: usize| across.saturating_mul(rows.div_ceil(16 * each));
    // As many as there are: what a tile computes for rows past the end is for nothing.
    let rows_each = rows.div_ceil(16).min(4);
    // A tile half as high reads the matrix twice as often, but on processors that had nothing to do.
    let is_busy = |each: &usize| *each == 1 || tiles(*each) >= limits.busy;
    let rows_each = [rows_each, rows_each / 2].into_iter().find(is_busy).unwrap_or(1);
    let workgroups = limits.spread(tiles(rows_each));
    Plan { kernel: Choice::Tiled { rows_each: rows_each as u32 }, workgroups }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Plan, Shape, plan};
    use crate::backend::gpu::Limits;

    fn of(rows: usize, outputs: usize) -> Plan {
        plan(Shape { rows, outputs }, &Limits::GUARANTEED)
    }

    #[test]
    fn few_rows_read_the_matrix_once() {
        for (rows, x_rows) in [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8)] {
            let Plan { kernel, workgroups } = of(rows, 1537);
            assert_eq!(kernel, Choice::FewRows { x_rows, groups: 1 });
            // 1537 outputs by sixteen.
            assert_eq!(workgroups, [97, 1]);
            assert!(kernel.takes_norm() && kernel.takes_gate());
        }
        assert_eq!(of(0, 1537).workgroups, [0, 1]);
        // A vocabulary of 9 000 000 is more than a dimension has workgroups.
        assert_eq!(of(1, 9_000_000).workgroups, [35_157, 2]);
    }

    #[test]
    fn many_outputs_go_together_where_the_device_stays_busy() {
        let groups = |rows, outputs, busy| match plan(
            Shape { rows, outputs },
            &Limits { busy, ..Limits::GUARANTEED },
        )
        .kernel
        {
            Choice::FewRows { groups, .. } => groups,
            Choice::Tiled { .. } => panic!("{rows} rows"),
        };
        // 49 152 outputs are 384 times 128; 3072 are 192 times sixteen, which keep 128 processors busy, and not twice.
        assert_eq!(groups(1, 49_152, 128), 8);
        assert_eq!(groups(1, 3072, 128), 1);
        assert_eq!(groups(1, 3072, 8), 8);
        // Eight sums a lane.
        assert_eq!([2, 3, 5].map(|rows| groups(rows, 49_152, 8)), [4, 2, 1]);
    }

    #[test]
    fn many_rows_are_tiled() {
        let tiled = |rows_each| Choice::Tiled { rows_each };
        assert_eq!(of(9, 64), Plan { kernel: tiled(1), workgroups: [1, 1] });
        // 1024 outputs are 16 tiles across; 2048 rows 32 tiles of 64 down.
        assert_eq!(of(2048, 1024), Plan { kernel: tiled(4), workgroups: [512, 1] });
        // 6 across and 8 down would be 48: 16 times 32 rows instead.
        assert_eq!(of(512, 384), Plan { kernel: tiled(1), workgroups: [192, 1] });
        assert!(!of(9, 64).kernel.takes_norm());
        // A device that is busy with little takes all the rows there are at once, and no room for more.
        let small = Limits { busy: 4, ..Limits::GUARANTEED };
        let of_384 = |rows| plan(Shape { rows, outputs: 384 }, &small).kernel;
        assert_eq!([16, 17, 33, 48, 49, 500].map(of_384), [1, 2, 3, 3, 4, 4].map(tiled));
    }

    #[test]
    fn tiles_cover_all_rows_and_outputs() {
        for rows in [9, 16, 17, 32, 33, 100, 5000] {
            for outputs in [1, 63, 64, 65, 49_152] {
                let Plan { kernel: Choice::Tiled { rows_each }, workgroups: [x, y] } =
                    of(rows, outputs)
                else {
                    panic!("{rows} rows")
                };
                let tiles = x as usize * y as usize;
                assert!(tiles >= rows.div_ceil(16 * rows_each as usize) * outputs.div_ceil(64));
            }
        }
    }
}
