//! Choosing candidates on the GPU.

use super::{Choice, Choices, Pick, Wanted};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;
use crate::ops::output::gpu::GpuOutput;
use std::sync::Arc;

/// The best of each row.
pub static CHOOSE: Kernel = Kernel {
    name: "choose",
    sources: &[include_str!("choose.wgsl")],
    entry: "choose",
    bindings: &[Access::Read, Access::Read, Access::Data, Access::Write],
};

/// The id of no choice.
const NONE: u32 = u32::MAX;

/// Choices on the device.
#[derive(Default)]
pub struct GpuChosen {
    /// `[rows, stride]`, pairs of an id and the bits of its log-probability.
    pairs: Option<Storage>,
    stride: usize,
    /// How many each row may have.
    wanted: Vec<usize>,
}

impl GpuChosen {
    /// The buffer whose words 2 · (first + i) are the ids of the last `rows` rows, and first.
    ///
    /// # Errors
    /// [`crate::error::Error::Internal`] if there are no such rows of one choice each.
    pub(crate) fn last_ids(&self, rows: usize) -> Result<(&Storage, usize)> {
        let first = self.wanted.len().checked_sub(rows).filter(|_| self.stride == 2);
        let pairs = self.pairs.as_ref();
        pairs.zip(first).ok_or_else(|| mismatch("embed what was chosen", rows, self.wanted.len()))
    }
}

impl Gpu {
    /// Records the choices of `picks`, in place of what `chosen` had.
    pub(crate) fn record_choices(
        &self,
        hidden: &Tensor,
        picks: &[Pick<GpuOutput>],
        chosen: &mut GpuChosen,
    ) {
        let count = |pick: &Pick<GpuOutput>| match pick.wanted {
            Wanted::Likeliest(count) => count.min(pick.output.candidates()),
            Wanted::Given(id) => usize::from(pick.output.place(id).is_some()),
        };
        chosen.wanted.clear();
        for pick in picks {
            chosen.wanted.extend(pick.rows.clone().map(|_| count(pick)));
        }
        chosen.stride = 2 * chosen.wanted.iter().copied().max().unwrap_or(0);
        let bytes = 4 * (chosen.stride * chosen.wanted.len()) as u64;
        let pairs = match chosen.pairs.take() {
            Some(pairs) if pairs.size() >= bytes => pairs,
            _ => self.storage(bytes),
        };
        let mut first_row = 0;
        for pick in picks {
            self.record_pick(hidden, pick, count(pick), (&pairs, first_row, chosen.stride));
            first_row += pick.rows.len();
        }
        chosen.pairs = Some(pairs);
    }

    /// Records the likeliest candidates of the rows of `pick`, in rows after those that `chosen` has.
    pub(crate) fn record_next(
        &self,
        hidden: &Tensor,
        pick: &Pick<GpuOutput>,
        chosen: &mut GpuChosen,
    ) {
        let (first_row, more) = (chosen.wanted.len(), pick.rows.len());
        if first_row > 0 && chosen.stride != 2 {
            return self.record_fault(mismatch("choose next", 2, chosen.stride));
        }
        chosen.stride = 2;
        let bytes = |rows: usize| 8 * rows as u64;
        let pairs = match chosen.pairs.take() {
            Some(pairs) if pairs.size() >= bytes(first_row + more) => pairs,
            old => {
                let pairs = self.storage(bytes((first_row + more).max(2 * first_row).max(64)));
                if let Some(old) = old.filter(|_| first_row > 0) {
                    self.copy_bytes(&old, 0..bytes(first_row), &pairs, 0);
                }
                pairs
            }
        };
        let likeliest = Pick {
            rows: pick.rows.clone(),
            output: Arc::clone(&pick.output),
            wanted: Wanted::Likeliest(1),
        };
        self.record_pick(hidden, &likeliest, 1, (&pairs, first_row, 2));
        chosen.wanted.resize(first_row + more, 1);
        chosen.pairs = Some(pairs);
    }

    /// Records `count` choices of each row of `pick` into rows of `stride` words from `first_row` on.
    fn record_pick(
        &self,
        hidden: &Tensor,
        pick: &Pick<GpuOutput>,
        count: usize,
        (pairs, first_row, stride): (&Storage, usize, usize),
    ) {
        let (rows, output) = (pick.rows.clone(), &pick.output);
        let logits = self.logits_of(hidden, rows.clone(), output);
        let given = match pick.wanted {
            Wanted::Given(id) => output.place(id).unwrap_or(NONE),
            Wanted::Likeliest(_) => NONE,
        };
        let [across, down] = match count {
            0 => [0, 0],
            _ => self.limits().spread(rows.len()),
        };
        // Data of no words have no binding.
        let barred = if output.barred().is_empty() { &[NONE][..] } else { output.barred() };
        self.dispatch(&Dispatch {
            kernel: &CHOOSE,
            constants: &[("HAS_IDS", u32::from(output.ids().is_some()))],
            uniforms: &[
                rows.len() as u32,
                output.candidates() as u32,
                count as u32,
                given,
                output.barred().len() as u32,
                first_row as u32,
                stride as u32,
            ],
            bindings: &[
                Bind::Buffer(logits.storage()),
                Bind::Buffer(output.ids().unwrap_or(logits.storage())),
                Bind::Data(barred),
                Bind::Buffer(pairs),
            ],
            workgroups: [across, down, 1],
        });
    }

    /// Waits for the choices and reads them.
    ///
    /// # Errors
    /// The faults of the calls since the last read.
    pub(crate) async fn read_choices(&self, chosen: &GpuChosen, to: &mut Choices) -> Result<()> {
        let mut words = Vec::new();
        let count = chosen.stride * chosen.wanted.len();
        match &chosen.pairs {
            Some(pairs) => self.read_words(pairs, count, &mut words).await?,
            None => self.take_fault()?,
        }
        chosen.tell(&words, to);
        Ok(())
    }

    /// [`Gpu::read_choices`] with tensors, whose values come one after the other: all are copied into one buffer, of
    /// which there is one read-back.
    ///
    /// # Errors
    /// As [`Gpu::read_choices`].
    pub(crate) async fn read_choices_with(
        &self,
        chosen: &GpuChosen,
        tensors: &[Tensor],
        to: &mut Choices,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let count = chosen.stride * chosen.wanted.len();
        let sizes = tensors.iter().map(Tensor::bytes);
        let all = self.storage(4 * count as u64 + sizes.sum::<u64>());
        let pairs = chosen.pairs.iter().map(|pairs| (pairs, 4 * count as u64));
        let mut end = 0;
        for (storage, bytes) in pairs.chain(tensors.iter().map(|one| (one.storage(), one.bytes())))
        {
            self.copy_bytes(storage, 0..bytes, &all, end);
            end += bytes;
        }
        let mut words = Vec::new();
        self.read_words(&all, end as usize / 4, &mut words).await?;
        chosen.tell(&words, to);
        values.clear();
        values.extend(words.iter().skip(count).map(|word| f32::from_bits(*word)));
        Ok(())
    }
}

impl GpuChosen {
    /// Adds the choices that were read.
    fn tell(&self, words: &[u32], to: &mut Choices) {
        to.clear();
        let chosen = self;
        for (row, wanted) in chosen.wanted.iter().enumerate() {
            let pairs = words.get(row * chosen.stride..).unwrap_or_default();
            let pairs = pairs.as_chunks::<2>().0.iter().take(*wanted);
            let choice =
                |[id, bits]: &[u32; 2]| Choice { id: *id, log_prob: f32::from_bits(*bits) };
            to.push_row(pairs.take_while(|[id, _]| *id != NONE).map(choice));
        }
    }
}
