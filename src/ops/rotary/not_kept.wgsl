// Keys and values are in no cache.

const IS_KEPT = false;

fn keep(index: u32, value: f32) {}
