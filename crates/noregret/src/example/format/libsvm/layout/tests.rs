use super::*;
use rand::{RngExt, SeedableRng};

/// A feature of so many digits, as text from its space to the byte after it.
pub(in super::super) fn written(
    random: &mut rand_pcg::Pcg64,
    digits: usize,
    places: usize,
) -> (String, String) {
    let mut number = |count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + random.random_range(0..10u8))).collect()
    };
    let (index, mut value) = (number(digits), number(1));
    if places > 0 {
        value = format!("{value}.{}", number(places));
    }
    if random.random_bool(0.5) {
        value.insert(0, '-');
    }
    (index, value)
}

#[test]
fn a_layout_reads_what_looks_like_it_and_nothing_else() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(3);
    for round in 0..40 {
        for digits in 1..=6 {
            for places in 0..=14 {
                let (index, value) = written(&mut random, digits, places);
                let token = format!(" {index}:{value}");
                let mut window = [b' '; WINDOW];
                window[..token.len()].copy_from_slice(token.as_bytes());
                let layout = Layout::of(&window).expect("a layout for every such token");
                let check = |window: &[u8; WINDOW], expected: Option<(&str, &str)>| {
                    let narrow = if layout.is_long() {
                        layout.read::<f32, true>(window)
                    } else {
                        layout.read::<f32, false>(window)
                    };
                    let wide = if layout.is_long() {
                        layout.read::<f64, true>(window)
                    } else {
                        layout.read::<f64, false>(window)
                    };
                    let Some((index, value)) = expected else {
                        assert!(narrow.is_none() && wide.is_none());
                        return;
                    };
                    // More digits than a number can hold may be left to others.
                    if let Some(feature) = narrow {
                        assert_eq!(feature.index, index.parse::<u32>().unwrap());
                        assert_eq!(
                            feature.value.to_bits(),
                            value.parse::<f32>().unwrap().to_bits(),
                            "{value}"
                        );
                        assert_eq!(feature.zero, feature.value == 0.0);
                        assert_eq!(feature.length, token.len());
                    }
                    if let Some(feature) = wide {
                        assert_eq!(
                            feature.value.to_bits(),
                            value.parse::<f64>().unwrap().to_bits(),
                            "{value}"
                        );
                        assert_eq!((feature.zero, feature.length), (feature.value == 0.0, token.len()));
                    } else {
                        assert!(places > 12, "{token}");
                    }
                };
                check(&window, Some((&index, &value)));
                let at = random.random_range(0..token.len());
                let byte: u8 = random.random();
                let (was, minus) = (window[at], value.starts_with('-') && at == digits + 2);
                // A minus in place of a digit moves all that follows, and so does a digit for a minus.
                if was != byte && !minus && byte != b'-' {
                    window[at] = byte;
                    if was.is_ascii_digit() && byte.is_ascii_digit() {
                        let text = String::from_utf8(window[1..token.len()].to_vec()).unwrap();
                        check(&window, text.split_once(':'));
                    } else {
                        check(&window, None);
                    }
                }
                assert!(round > 0 || Layout::of(&[b' '; WINDOW]).is_none());
            }
        }
    }
}
