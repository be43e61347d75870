//! Hashing of feature names: MurmurHash3 (Austin Appleby, x86, 32 bits), and the rules by which
//! Vowpal Wabbit's default `--hash strings` applies it, so that a feature has the same index here
//! and there.

/// Bits of the hash that are kept where nothing else is said: 262,144 places.
pub const DEFAULT_BITS: u32 = 18;

/// The largest number of bits: places must be numbered by a u32, with room for columns before them.
pub const LARGEST_BITS: u32 = 31;

/// The place of VW's constant feature before it is masked. Learners here keep the bias apart;
/// the number serves to read the weights of the other.
pub const VW_CONSTANT: u32 = 11_650_396;

/// The mask that keeps `bits` bits of a hash.
///
/// ```
/// assert_eq!(noregret::example::hash::mask(18), 0x3ffff);
/// ```
pub const fn mask(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// MurmurHash3_x86_32 of `key`.
///
/// ```
/// assert_eq!(noregret::example::hash::murmur3(b"test", 0), 0xba6b_d213);
/// ```
#[inline]
pub fn murmur3(key: &[u8], seed: u32) -> u32 {
    let mut h = seed;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        h = mix(h, u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    let tail = words.remainder().iter().rev().fold(0, |k, &byte| k << 8 | u32::from(byte));
    finish(h ^ scramble(tail), key.len())
}

/// [`murmur3`] of the first `length` bytes, 1 to 15, of two words (the first byte in the lowest).
#[inline(always)]
pub fn murmur3_words(first: u64, second: u64, length: usize, seed: u32) -> u32 {
    let quarter = |word: u64, k: usize| (word >> (32 * k)) as u32;
    let quarters = [quarter(first, 0), quarter(first, 1), quarter(second, 0), quarter(second, 1)];
    // How long names are is hard to guess, so all is mixed, and what the length says is taken.
    let mut mixed = [seed; 4];
    for k in 0..3 {
        mixed[k + 1] = mix(mixed[k], quarters[k]);
    }
    let whole = length / 4 % 4;
    // Of the quarter that the key ends in, only what belongs to it.
    let tail = quarters[whole] & !(u32::MAX << (8 * (length % 4)));
    finish(mixed[whole] ^ scramble(tail), length)
}

/// What a whole word of the key does.
#[inline]
fn mix(h: u32, word: u32) -> u32 {
    (h ^ scramble(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// 0 of 0, so that a tail without bytes changes nothing.
#[inline]
fn scramble(k: u32) -> u32 {
    k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[inline]
fn finish(h: u32, length: usize) -> u32 {
    let mut h = h ^ length as u32;
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// VW's hash of a name: what is no more than space is trimmed at both ends; a name of digits only
/// is that number plus the seed (so numbered features keep their numbers); any other name is
/// hashed. Modulo `2^32`, which loses nothing once the result is masked.
///
/// ```
/// use noregret::example::hash::vw_name;
/// assert_eq!(vw_name(b"12", 3), 15);
/// ```
#[inline]
pub fn vw_name(name: &[u8], seed: u32) -> u32 {
    let mut name = name;
    while let [0..=b' ', rest @ ..] = name {
        name = rest;
    }
    while let [rest @ .., 0..=b' '] = name {
        name = rest;
    }
    let mut number = 0_u32;
    for &byte in name {
        if !byte.is_ascii_digit() {
            return murmur3(name, seed);
        }
        number = number.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'));
    }
    number.wrapping_add(seed)
}

/// The seed for the features of a namespace: 0 for the default one, which has no name.
#[inline]
pub fn vw_namespace(name: &[u8]) -> u32 {
    vw_name(name, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur_gives_the_published_values() {
        for (key, seed, hash) in [
            (&b""[..], 0, 0),
            (b"", 1, 0x514e_28b7),
            (b"", 0xffff_ffff, 0x81f1_6f39),
            (b"\xff\xff\xff\xff", 0, 0x7629_3b50),
            (b"\x21\x43\x65\x87", 0, 0xf55b_516b),
            (b"\x21\x43\x65\x87", 0x5082_edee, 0x2362_f9de),
            (b"\x21\x43\x65", 0, 0x7e4a_8634),
            (b"\x21\x43", 0, 0xa0f7_b07a),
            (b"\x21", 0, 0x7266_1cf4),
            (b"\0\0\0\0", 0, 0x2362_f9de),
            (b"\0\0\0", 0, 0x85f0_b427),
            (b"\0\0", 0, 0x30f4_c306),
            (b"\0", 0, 0x514e_28b7),
            (b"test", 0, 0xba6b_d213),
            (b"test", 0x9747_b28c, 0x704b_81dc),
            (b"Hello, world!", 0, 0xc036_3e43),
            (b"Hello, world!", 0x9747_b28c, 0x2488_4cba),
            (b"The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
            (b"The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3(key, seed), hash, "{key:?} with seed {seed:x}");
        }
    }

    #[test]
    fn a_short_key_in_words_has_the_same_hash() {
        let (first, second) = (*b"a\xff0\0Z\x80|9", *b"\xfe:8 b\x7f~\x01");
        let bytes = [first, second].concat();
        for length in 1..16 {
            for seed in [0, 1, 0x9747_b28c] {
                let hash = murmur3_words(u64::from_le_bytes(first), u64::from_le_bytes(second), length, seed);
                assert_eq!(hash, murmur3(&bytes[..length], seed), "{length}");
            }
        }
    }

    /// `vw --audit` of VW 9.11, with 18 and with 24 bits.
    #[test]
    fn names_land_where_vw_puts_them() {
        for (space, name, of_18, of_24) in [
            ("", "a", 92594, 2451890),
            ("", "b", 163331, 14581251),
            ("x", "a", 167017, 4623465),
            ("x", "b", 162468, 16677540),
            ("x", "y", 3317, 6032629),
            ("x", "a'b", 87467, 7951787),
            ("x", "\"c\"", 140718, 2500014),
            ("x", "d,e", 96506, 358650),
            ("x", "{f}", 132032, 3015616),
            ("x", "#g", 133489, 15075697),
            ("x", "é", 160666, 11170714),
            ("Ü日本", "日本語", 101931, 15568427),
            ("ns", "a", 180474, 1753338),
            ("12", "12", 24, 24),
            ("12", "0", 12, 12),
            ("12", "00012", 24, 24),
            ("12", "a", 203536, 14621456),
            ("x", "3000000000", 194843, 7010587),
            ("x", "18446744073709551615", 170778, 10132250),
            ("x", "18446744073709551616", 170779, 10132251),
            ("x", "a\x01", 167017, 4623465),
            ("x", "\x0112", 170791, 10132263),
            ("x", "1\x012", 7762, 2367058),
        ] {
            let hash = vw_name(name.as_bytes(), vw_namespace(space.as_bytes()));
            assert_eq!(hash & mask(18), of_18, "{space}^{name}");
            assert_eq!(hash & mask(24), of_24, "{space}^{name}");
        }
    }

    #[test]
    fn a_mask_keeps_its_bits() {
        assert_eq!(mask(1), 1);
        assert_eq!(mask(31), u32::MAX >> 1);
        assert_eq!(mask(32), u32::MAX);
        assert_eq!(VW_CONSTANT & mask(24), 11_650_396);
    }
}
