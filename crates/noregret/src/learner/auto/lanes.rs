//! `exp` of several numbers at once: plain loops over lanes, which the compiler turns into vector instructions.

/// `ln 2` in two parts; the first has zeros at its end, so that its product with a whole number below 2000 is exact.
const OCTAVE: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
/// Added and taken away again, it leaves the nearest whole number; before that, the lowest bits are that number.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// Beyond this the result would come near the end of the numbers.
const FARTHEST: f64 = 700.0;

/// `2^n` and `exp(y) - 1`, where `x` is `n ln 2 + y` and `|y|` at most half of `ln 2`; `x` is cut at 700 either way.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    let x = x.clamp(-FARTHEST, FARTHEST);
    let shifted = x * std::f64::consts::LOG2_E + WHOLE;
    let octaves = shifted - WHOLE;
    let y = (x - octaves * OCTAVE.0) - octaves * OCTAVE.1;
    // Thirteen terms of the series, in three groups of four that do not wait for one another.
    let (y2, y4) = (y * y, (y * y) * (y * y));
    let a = (1.0 / 2.0 + y * (1.0 / 6.0)) + y2 * (1.0 / 24.0 + y * (1.0 / 120.0));
    let b = (1.0 / 720.0 + y * (1.0 / 5040.0)) + y2 * (1.0 / 40_320.0 + y * (1.0 / 362_880.0));
    let c = (1.0 / 3_628_800.0 + y * (1.0 / 39_916_800.0))
        + y2 * (1.0 / 479_001_600.0 + y * (1.0 / 6_227_020_800.0));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    (power, y + y2 * (a + y4 * (b + y4 * c)))
}

/// `exp(x)` in every lane.
#[inline(always)]
pub(super) fn exp<const N: usize>(mut x: [f64; N]) -> [f64; N] {
    for x in &mut x {
        let (power, part) = parts(*x);
        *x = power * part + power;
    }
    x
}

/// `exp(x) - 1`, for a loop over lanes.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (power, part) = parts(x);
    power * part + (power - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_to_two_roundings() {
        let mut x = -60.0;
        while x < 60.0 {
            let ([e], e1) = (exp([x]), exp_m1(x));
            assert!((e - x.exp()).abs() <= 2.0 * f64::EPSILON * x.exp(), "exp {x}: {e}");
            assert!((e1 - x.exp_m1()).abs() <= 2.0 * f64::EPSILON * x.exp_m1().abs(), "exp_m1 {x}: {e1}");
            x += 0.000_917;
        }
        for x in [1e-300, 1e-18, 1e-9, 3e-5, 0.02, 0.3465, 0.3466] {
            let e1 = exp_m1(x);
            assert!((e1 - x.exp_m1()).abs() <= 2.0 * f64::EPSILON * x.exp_m1(), "exp_m1 {x}: {e1}");
        }
    }

    #[test]
    fn at_the_ends() {
        assert_eq!(exp([0.0, -0.0]), [1.0, 1.0]);
        assert_eq!(exp_m1(0.0), 0.0);
        assert!(exp([f64::NAN])[0].is_nan() && exp_m1(f64::NAN).is_nan());
        let [low, high] = exp([f64::NEG_INFINITY, f64::INFINITY]);
        assert!(low > 0.0 && low < 1e-300 && high > 1e300 && high.is_finite());
    }
}
