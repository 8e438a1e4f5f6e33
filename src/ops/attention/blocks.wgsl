// Query heads of a sequence that share a key head lie one after the other, row by row: slot s is the head s % group of the
// group, of the row s / group. blocks: three words a block of slots: the entry in `rows` of the first row, the first slot
// counted from there, and how many slots there are.

// Room for slots in a block: 1, 4 or 16.
override SLOTS: u32 = 16u;

struct Block {
  kv_head: u32,
  first_entry: u32,
  first_slot: u32,
  used: u32,
}

// A pair is a block and a key head.
fn block_of(pair: u32) -> Block {
  let kv_heads = arguments.num_heads / arguments.group;
  let at = 3u * (pair / kv_heads);
  return Block(pair % kv_heads, blocks[at], blocks[at + 1u], blocks[at + 2u]);
}

fn pairs() -> u32 { return arguments.blocks * (arguments.num_heads / arguments.group); }

// Where the row of a slot has its words in `rows`.
fn entry_of(block: Block, slot: u32) -> u32 {
  return 5u * (block.first_entry + (block.first_slot + slot) / arguments.group);
}

fn head_of(block: Block, slot: u32) -> u32 {
  return block.kv_head * arguments.group + (block.first_slot + slot) % arguments.group;
}

// Where a slot has its head in the result, [q rows, num_heads · head_dim].
fn result_of(block: Block, slot: u32) -> u32 {
  let row = rows[entry_of(block, slot)];
  return (row * arguments.num_heads + head_of(block, slot)) * arguments.head_dim;
}
