//! The items, and what is done to them; the same as in dataflows/support/items.py.

/// A number unique within the run, when it was due on the monotonic clock, and a random digit.
pub type Item = (u64, u64, u64);

/// The next number of a linear congruential generator.
pub fn random(state: u64) -> u64 {
    state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7FFF_FFFF
}

/// Fills and sorts a list of integers.
pub fn heavy(item: Item, heaviness: usize) -> Item {
    let mut state = item.0;
    let mut values: Vec<u64> = Vec::new();
    for _ in 0..heaviness {
        state = random(state);
        values.push(state);
    }
    values.sort();
    // Nobody looks at them: else they would be left out of the program.
    std::hint::black_box(&values);
    item
}

/// The small string that an item ends as; it carries all three parts.
pub fn to_text((ident, due_ns, digit): Item) -> String {
    format!("{digit} {ident} {due_ns}")
}

/// The identity of an item, and when it was due, out of its string.
pub fn of_text(text: &str) -> (u64, u64) {
    let mut parts = text.split(' ').skip(1).map(|part| part.parse().expect("a number"));
    let mut part = || parts.next().expect("three parts");
    (part(), part())
}
