//! Choosing the likeliest candidates.

use super::{Random, Run, activation, assert_close, run_all};
use multihead::ops::choose::reference;
use multihead::ops::{ActivationQuant, Choice, Choices, Ops, Pick, TableSource, Wanted, Weights};
use std::f32::consts::LN_2;
use std::sync::Arc;

/// Chooses among logits; gives ids and log-probabilities by turns, and −1 between rows.
struct Choose<'a> {
    logits: &'a [f32],
    ids: Option<&'a [u32]>,
    candidates: usize,
    barred: &'a [u32],
    wanted: Wanted,
}

impl Run for Choose<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let rows = self.ids.and_then(<[u32]>::last).map_or(self.candidates, |&id| id as usize + 1);
        let weights = Weights::F32(vec![0.0; rows]);
        let table = TableSource { name: "Wemb".to_owned(), rows, columns: 1, weights };
        let table = ops.table(table).unwrap();
        // Weights of zero leave the bias: each row's logits, as a projection of its own.
        let project = |logits: &[f32]| {
            let mut bias = vec![0.0; rows];
            for (i, &logit) in logits.iter().enumerate() {
                bias[self.ids.map_or(i, |ids| ids[i] as usize)] = logit;
            }
            let none = ActivationQuant::None;
            ops.output_projection(&table, Some(&bias), none, self.ids, self.barred).unwrap()
        };
        let outputs: Vec<_> = self.logits.chunks(self.candidates).map(project).collect();
        let hidden = ops.zeros(outputs.len(), 1);
        let pick = |(row, output)| {
            let (rows, output) = (row..row + 1, Arc::new(output));
            Pick { rows, output, wanted: self.wanted }
        };
        let picks: Vec<_> = outputs.into_iter().enumerate().map(pick).collect();
        let mut choices = Choices::default();
        choose(ops, &hidden, &picks, &mut choices).await;
        flatten((0..choices.len()).map(|row| choices.row(row)))
    }
}

/// The choices of `picks`; what was chosen before must not matter.
async fn choose<O: Ops>(
    ops: &mut O,
    hidden: &O::Tensor,
    picks: &[Pick<O::OutputProjection>],
    choices: &mut Choices,
) {
    let mut chosen = O::Chosen::default();
    ops.choose(hidden, picks.get(..1).unwrap_or_default(), &mut chosen);
    choices.push_row([Choice { id: 7, log_prob: 0.0 }]);
    ops.choose(hidden, picks, &mut chosen);
    ops.read_chosen(&chosen, choices).await.unwrap();
}

fn flatten<'a>(rows: impl IntoIterator<Item = &'a [Choice]>) -> Vec<f32> {
    let row = |row: &[Choice]| {
        let pairs = row.iter().flat_map(|choice| [choice.id as f32, choice.log_prob]);
        pairs.chain([-1.0]).collect::<Vec<_>>()
    };
    rows.into_iter().flat_map(row).collect()
}

pub async fn by_hand() {
    // Probabilities 1/8, 4/8, 2/8, 1/8 of ids 2, 3, 5, 7; 3 is barred.
    let logits = [0.0, 2.0 * LN_2, LN_2, 0.0];
    let ids = [2, 3, 5, 7];
    let two = Choose {
        logits: &logits,
        ids: Some(&ids),
        candidates: 4,
        barred: &[1, 3],
        wanted: Wanted::Likeliest(2),
    };
    let want = [5.0, -2.0 * LN_2, 2.0, -3.0 * LN_2, -1.0];
    assert_close(&run_all(&two, "by hand").await, &want, 1e-6, "by hand");
    let all = Choose { wanted: Wanted::Likeliest(9), ..two };
    let want = [5.0, -2.0 * LN_2, 2.0, -3.0 * LN_2, 7.0, -3.0 * LN_2, -1.0];
    assert_close(&run_all(&all, "by hand").await, &want, 1e-6, "by hand");
    assert_eq!(run_all(&Choose { wanted: Wanted::Likeliest(0), ..all }, "by hand").await, [-1.0]);
    // A given one has its log-probability, barred or not; who is no candidate has none.
    let given = async |id| run_all(&Choose { wanted: Wanted::Given(id), ..all }, "given").await;
    assert_close(&given(3).await, &[3.0, -LN_2, -1.0], 1e-6, "given");
    assert_close(&given(7).await, &[7.0, -3.0 * LN_2, -1.0], 1e-6, "given");
    assert_eq!(given(4).await, [-1.0]);
    let none = Choose {
        logits: &[1.0],
        ids: None,
        candidates: 1,
        barred: &[0],
        wanted: Wanted::Likeliest(1),
    };
    assert_eq!(run_all(&none, "by hand").await, [-1.0]);
}

pub async fn random() {
    let mut random = Random::new(9);
    for i in 0..150 {
        let ids: Vec<u32> = (0..random.between(1, 300) as u32)
            .filter(|&id| id == 0 || random.below(3) > 0)
            .collect();
        let rows = random.between(1, 4);
        // Coarse values, so that ties are common; some far down, where exp is 0.
        let logits: Vec<f32> = (0..rows * ids.len())
            .map(|_| match random.below(20) {
                0 => -1e4,
                _ => (random.float() * 8.0).round() * 0.75 + 3.0,
            })
            .collect();
        let barred: Vec<u32> = (0..random.below(4)).map(|_| random.below(300) as u32).collect();
        let k = [1, 1, 4, 12][i % 4];
        let candidates = ids.len();
        let (logits, barred, wanted) = (&logits[..], &barred[..], Wanted::Likeliest(k));
        let choose = Choose { logits, ids: Some(&ids), candidates, barred, wanted };
        let want: Vec<_> =
            logits.chunks(candidates).map(|row| reference(row, &ids, barred, k)).collect();
        let what = format!("{candidates} candidates, k {k}");
        let (got, want) = (run_all(&choose, &what).await, flatten(want.iter().map(Vec::as_slice)));
        // Ids and row ends are exact, log-probabilities close.
        assert_eq!(got.len(), want.len(), "{what}");
        for (got, want) in got.iter().zip(&want) {
            let tolerance = if want.fract() == 0.0 { 1e-5 } else { 2e-6 };
            assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{what}: {got} {want}");
        }
    }
}

/// Rows of one tensor, each of which chooses among candidates of its own: all in one call, and one after the other.
struct Picks<'a> {
    hidden: &'a [f32],
    columns: usize,
    weights: &'a Weights<'a>,
    vocab_size: usize,
    /// Rows and candidates of each pick.
    picks: &'a [(usize, Option<Vec<u32>>)],
    k: usize,
}

impl Run for Picks<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let (rows, columns, weights) = (self.vocab_size, self.columns, self.weights.clone());
        let table = TableSource { name: "Wemb".to_owned(), rows, columns, weights };
        let table = ops.table(table).unwrap();
        let project = |(_, ids): &(usize, Option<Vec<u32>>)| {
            ops.output_projection(
                &table,
                None,
                activation(ActivationQuant::Wide),
                ids.as_deref(),
                &[1],
            )
        };
        let mut picks = Vec::new();
        let mut row = 0;
        for pick in self.picks {
            let output = Arc::new(project(pick).unwrap());
            let rows = row..row + pick.0;
            // Barred id 1 is given to each third.
            let given = picks.len() % 3 == 2;
            let wanted = if given { Wanted::Given(1) } else { Wanted::Likeliest(self.k) };
            picks.push(Pick { rows, output, wanted });
            row += pick.0;
        }
        let hidden = ops.upload(self.hidden.len() / columns, columns, self.hidden);
        let mut choices = Choices::default();
        choose(ops, &hidden, &picks, &mut choices).await;
        let rows = choices.len();
        let together = flatten((0..rows).map(|row| choices.row(row)));
        let mut one_by_one = Vec::new();
        for pick in &picks {
            choose(ops, &hidden, std::slice::from_ref(pick), &mut choices).await;
            one_by_one.extend(flatten((0..choices.len()).map(|row| choices.row(row))));
        }
        assert_eq!((rows, &together), (row, &one_by_one));
        together
    }
}

pub async fn picks() {
    let mut random = Random::new(23);
    for i in 0..40 {
        let (columns, vocab_size) = (random.between(1, 40), random.between(2, 60));
        let weights = random.weights(vocab_size * columns, true);
        let candidates = |random: &mut Random| {
            (random.below(4) > 0)
                .then(|| (0..vocab_size as u32).filter(|_| random.below(3) > 0).collect())
        };
        let count = random.between(0, 9);
        let picks: Vec<_> =
            (0..count).map(|_| (random.between(1, 3), candidates(&mut random))).collect();
        let rows: usize = picks.iter().map(|(rows, _)| rows).sum();
        let hidden = random.floats(rows * columns);
        let (hidden, picks, weights) = (&hidden[..], &picks[..], &weights);
        let k = i % 4 + 1;
        run_all(&Picks { hidden, columns, weights, vocab_size, picks, k }, "picks").await;
    }
}
