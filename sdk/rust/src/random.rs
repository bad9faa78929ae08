use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};

thread_local! {
    // Keys of the operating system's randomness, and a counter that they turn into numbers.
    static SOURCE: (RandomState, Cell<u64>) = (RandomState::new(), Cell::new(0));
}

/// 64 random bits: for ids that must differ, and for jitter; not for secrets.
pub(crate) fn bits() -> u64 {
    SOURCE.with(|(keys, counter)| {
        let mut hasher = keys.build_hasher();
        hasher.write_u64(counter.replace(counter.get().wrapping_add(1)));
        // A fork copies keys and counter; its process id tells the copies apart.
        hasher.write_u32(std::process::id());
        hasher.finish()
    })
}

/// A number from 0, inclusive, to 1, exclusive.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn fraction() -> f64 {
    (bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A UUID of version 4.
pub(crate) fn uuid() -> String {
    let (high, low) = (bits(), bits());
    let mut text = String::with_capacity(36);
    let _ = write!(
        text,
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    );
    text
}
