//! `exp` and `ln` of several numbers at once: plain loops over lanes, which the compiler turns into vector instructions.

use std::f64::consts::{LN_2, LOG2_E};

/// `ln 2` in two parts; the first has zeros at its end, so that its product with a whole number below 2000 is exact.
const OCTAVE: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
/// Added and taken away again, it leaves the nearest whole number; before that, the lowest bits are that number.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// Beyond this the result would come near the end of the numbers.
const FARTHEST: f64 = 700.0;
/// With its lowest bits replaced by a whole number it is larger by that number.
const COUNTER: f64 = 4_503_599_627_370_496.0;

/// `2^n`, where `n` was added to [`WHOLE`].
#[inline(always)]
fn power(shifted: f64) -> f64 {
    f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52))
}

/// `exp(x)` in every lane; `x` is cut at 700 either way.
#[inline(always)]
pub(super) fn exp<const N: usize>(mut x: [f64; N]) -> [f64; N] {
    for x in &mut x {
        let cut = x.clamp(-FARTHEST, FARTHEST);
        let shifted = cut * LOG2_E + WHOLE;
        let octaves = shifted - WHOLE;
        let y = (cut - octaves * OCTAVE.0) - octaves * OCTAVE.1;
        // Thirteen terms of the series, in three groups of four that do not wait for one another.
        let (y2, y4) = (y * y, (y * y) * (y * y));
        let a = (1.0 / 2.0 + y * (1.0 / 6.0)) + y2 * (1.0 / 24.0 + y * (1.0 / 120.0));
        let b = (1.0 / 720.0 + y * (1.0 / 5040.0)) + y2 * (1.0 / 40_320.0 + y * (1.0 / 362_880.0));
        let c = (1.0 / 3_628_800.0 + y * (1.0 / 39_916_800.0))
            + y2 * (1.0 / 479_001_600.0 + y * (1.0 / 6_227_020_800.0));
        let power = power(shifted);
        *x = power * (y + y2 * (a + y4 * (b + y4 * c))) + power;
    }
    x
}

/// `exp(x) - 1` to nine digits, for a loop over lanes: what ends as f32 needs no more. `x` is cut at 700.
#[inline(always)]
pub(super) fn exp_m1_nearly(x: f64) -> f64 {
    // Written so that it is one instruction.
    let x = if x < FARTHEST { x } else { FARTHEST };
    let shifted = x * LOG2_E + WHOLE;
    let y = x - (shifted - WHOLE) * LN_2;
    let (y2, y4) = (y * y, (y * y) * (y * y));
    let a = (1.0 / 2.0 + y * (1.0 / 6.0)) + y2 * (1.0 / 24.0 + y * (1.0 / 120.0));
    let b = (1.0 / 720.0 + y * (1.0 / 5040.0)) + y2 * (1.0 / 40_320.0);
    let power = power(shifted);
    power * (y + y2 * (a + y4 * b)) + (power - 1.0)
}

/// A number that is above `ln(x)` by less than 0.0009, for `x` of at least 1 in a loop over lanes.
#[inline(always)]
pub(super) fn ln_from_above(x: f64) -> f64 {
    let octaves = f64::from_bits((x.to_bits() >> 52) | COUNTER.to_bits()) - (COUNTER + 1023.0);
    let t = f64::from_bits((x.to_bits() & ((1 << 52) - 1)) | 1f64.to_bits()) - 1.0;
    // The cubic that is nearest to `ln(1 + t)`, which it misses by 0.000442 at most, and so much again.
    octaves * LN_2 + ((0.000_885 + t * 0.983_492_96) + t * t * (t * 0.109_689_67 - 0.400_035_44))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library() {
        let mut x = -60.0;
        while x < 60.0 {
            let ([e], e1) = (exp([x]), exp_m1_nearly(x));
            assert!((e - x.exp()).abs() <= 2.0 * f64::EPSILON * x.exp(), "exp {x}: {e}");
            assert!((e1 - x.exp_m1()).abs() <= 1e-9 * x.exp_m1().abs(), "exp_m1 {x}: {e1}");
            x += 0.000_917;
        }
        for x in [1e-300, 1e-18, 1e-9, 3e-5, 0.02, 0.3465, 0.3466, 300.0, 699.0] {
            let e1 = exp_m1_nearly(x);
            assert!((e1 - x.exp_m1()).abs() <= 1e-9 * x.exp_m1(), "exp_m1 {x}: {e1}");
        }
        let mut x = 1.0;
        while x < 1e300 {
            let over = ln_from_above(x) - x.ln();
            assert!(over > 0.0 && over < 0.0009, "ln {x}: {over}");
            x *= 1.000_917;
        }
    }

    #[test]
    fn at_the_ends() {
        assert_eq!(exp([0.0, -0.0]), [1.0, 1.0]);
        assert_eq!(exp_m1_nearly(0.0), 0.0);
        assert!(exp([f64::NAN])[0].is_nan());
        assert!(exp_m1_nearly(f64::INFINITY) > 1e300 && ln_from_above(f64::INFINITY) > 709.0);
        let [low, high] = exp([f64::NEG_INFINITY, f64::INFINITY]);
        assert!(low > 0.0 && low < 1e-300 && high > 1e300 && high.is_finite());
    }
}
