//! What attention knows of the order of words: nothing, but for positions.

use super::{encoders, fixture};
use multihead::formats::safetensors::SafetensorsFolder;
use multihead::model::{Positions, arch};
use multihead::ops::Ops;
use multihead::stack::{Encoder, Precision};
use pollster::block_on;

/// Tokens of a text, and their order once two have changed places.
const TOKENS: [u32; 6] = [2, 31, 107, 64, 158, 3];
const SWAPPED: [usize; 6] = [0, 4, 2, 3, 1, 5];

/// The output of an encoder of the fixtures for each token, with what it knows of positions or without.
fn outputs<O: Ops + Clone>(
    ops: &O,
    name: &str,
    tokens: &[u32],
    with_positions: bool,
) -> Vec<Vec<f32>> {
    let mut ops = ops.clone();
    let mut folder = encoders::folder(&fixture(&format!("encoders/{name}")));
    let config = folder.required_config("config.json").unwrap();
    let tensors = SafetensorsFolder::open(&mut folder, "").unwrap();
    let mut spec = arch::encoders::describe(&config, &tensors).unwrap();
    if !with_positions {
        spec.stack.config.positions = Positions::None;
        spec.stack.relative = None;
    }
    let model = Encoder::load(&ops, &tensors, &spec, Precision::Float32).unwrap();
    let mut encoding = model.begin(&mut ops, &[tokens]).unwrap();
    while model.advance(&mut ops, &mut encoding, None).unwrap() {}
    let (hidden, _) = model.end(&mut ops, encoding);
    let mut values = Vec::new();
    block_on(ops.read(&hidden, &mut values)).unwrap();
    values.chunks(model.hidden_size()).map(<[f32]>::to_vec).collect()
}

/// Words in other places have their outputs there, as long as nothing says where a word is: then they have not.
pub fn is_known_by_positions_alone<O: Ops + Clone>(ops: &O) {
    let swapped = SWAPPED.map(|place| TOKENS[place]);
    // A learned table, and biases by distance beside one.
    for name in ["bert-embed", "mpnet-embed"] {
        for with_positions in [false, true] {
            let before = outputs(ops, name, &TOKENS, with_positions);
            let after = outputs(ops, name, &swapped, with_positions);
            let pairs =
                after.iter().zip(SWAPPED).flat_map(|(row, place)| row.iter().zip(&before[place]));
            let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            // Sums over keys in another order end in other last bits: of the largest output's size.
            let largest = before.iter().flatten().fold(0.0, |largest: f32, x| largest.max(x.abs()));
            let apart = apart / largest;
            println!("{name}, positions {with_positions}: {apart:.1e} of the largest output");
            match with_positions {
                false => assert!(apart <= 1e-6, "{name}: {apart}"),
                true => assert!(apart > 0.01, "{name}: {apart}"),
            }
        }
    }
}
