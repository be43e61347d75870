//! The least value of a convex quadratic `<b, v> + <v, H v>/2` over a Euclidean ball, or with a
//! quadratic penalty: the inner problem of the Newton method. The multiplier `l` of the ball makes
//! `(H + l) v = -b` with `|v| = U`, and is found by a search in one dimension.
//!
//! With few features `H` is formed and factored. Otherwise the minimum is sought in a subspace that
//! holds the current model and grows by the preconditioned residual, one product with `H` each
//! (Davidson 1975); inside it the problem is small and solved exactly, the multiplier included.

use super::problem::{Flow, Problem};
use crate::example::Value;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn, SymmetricEigen};

/// Most directions of a subspace, and most numbers that they may take.
const MOST_DIRECTIONS: usize = 60;
const MOST_NUMBERS: usize = 1 << 26;

/// With more coordinates than this the Hessian is not formed.
const MOST_DENSE: usize = 1500;

/// What holds the minimum back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// `|v| <= U`.
    Ball(f64),
    /// `(strength/2) |v|^2` is added.
    Penalty(f64),
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (x, y) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(p, q)| p * q).sum();
    for (p, q) in x.zip(y) {
        for (sum, (p, q)) in sums.iter_mut().zip(p.iter().zip(q)) {
            *sum += p * q;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `a += factor b`.
pub(super) fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (x, y) in a.iter_mut().zip(b) {
        *x += factor * y;
    }
}

/// `-beta/(values + l)` with the multiplier `l` that the limit asks for.
fn secular(values: &[f64], beta: &[f64], limit: Limit) -> (Vec<f64>, f64) {
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let floor = 1e-14 * largest + f64::MIN_POSITIVE;
    let at = |l: f64| -> Vec<f64> { values.iter().zip(beta).map(|(v, b)| -b / (v.max(floor) + l)).collect() };
    let radius = match limit {
        Limit::Penalty(strength) => return (at(strength), strength),
        Limit::Ball(radius) => radius,
    };
    let free = at(0.0);
    if norm(&free) <= radius {
        return (free, 0.0);
    }
    // |v| <= |beta|/l.
    let (mut low, mut high) = (0.0, norm(beta) / radius);
    for _ in 0..200 {
        let middle = if low > 0.0 { (low * high).sqrt() } else { high * 1e-3 };
        if middle <= low || middle >= high || middle < f64::MIN_POSITIVE {
            break;
        }
        if norm(&at(middle)) > radius {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-15 * high {
            break;
        }
    }
    (at(high), high)
}

/// The factors of `H + l`, whatever has to be added to make it positive.
fn factor(hessian: &DMatrix<f64>, l: f64) -> Option<Cholesky<f64, Dyn>> {
    let d = hessian.nrows();
    let largest = (0..d).fold(0.0, |m: f64, i| m.max(hessian[(i, i)]));
    let mut more = 1e-13 * largest + f64::MIN_POSITIVE;
    for _ in 0..12 {
        let mut shifted = hessian.clone();
        for i in 0..d {
            shifted[(i, i)] += l + more;
        }
        if let Some(factors) = shifted.cholesky() {
            return Some(factors);
        }
        more *= 10.0;
    }
    None
}

/// The minimum with a Hessian that was formed. Newton's method on `1/|v|`, which is nearly straight
/// in the multiplier (More and Sorensen 1983).
fn dense(hessian: Vec<f64>, b: &[f64], limit: Limit) -> Option<(Vec<f64>, f64)> {
    let d = b.len();
    let hessian = DMatrix::from_vec(d, d, hessian);
    let right = -DVector::from_column_slice(b);
    let solve = |l: f64| factor(&hessian, l).map(|f| (f.solve(&right), f));
    let radius = match limit {
        Limit::Penalty(strength) => return Some((solve(strength)?.0.as_slice().to_vec(), strength)),
        Limit::Ball(radius) => radius,
    };
    let mut l = 0.0;
    let (mut v, mut factors) = solve(l)?;
    for _ in 0..50 {
        let length = v.norm();
        if length <= radius * (1.0 + 1e-10) {
            break;
        }
        let w = factors.l().solve_lower_triangular(&v)?;
        l += (length * length / w.norm_squared()) * (length - radius) / radius;
        (v, factors) = solve(l)?;
    }
    Some((v.as_slice().to_vec(), l))
}

/// The minimum of the quadratic model at `u`, and the multiplier: with the Hessian formed where that is
/// cheap, in a subspace otherwise.
pub(super) fn minimise<V: Value>(
    problem: &mut Problem<'_, V>,
    u: &[f64],
    gradient: &[f64],
    curvature: &[f64],
    limit: Limit,
    accuracy: f64,
) -> Flow<(Vec<f64>, f64)> {
    let d = problem.dimension();
    let cheap = 60.0 * (problem.nonzeros as f64).max((d * d) as f64);
    if d <= MOST_DENSE && problem.fill <= cheap {
        let hessian = problem.hessian(curvature)?;
        let mut b = gradient.to_vec();
        for (j, u) in u.iter().enumerate() {
            add(&mut b, -u, &hessian[j * d..(j + 1) * d]);
        }
        if let Some(found) = dense(hessian, &b, limit) {
            return Ok(found);
        }
    }
    subspace(problem, u, gradient, curvature, limit, accuracy)
}

/// The minimum in a growing subspace, until its residual is `accuracy` of what it was.
fn subspace<V: Value>(
    problem: &mut Problem<'_, V>,
    u: &[f64],
    gradient: &[f64],
    curvature: &[f64],
    limit: Limit,
    accuracy: f64,
) -> Flow<(Vec<f64>, f64)> {
    let d = u.len();
    let most = MOST_DIRECTIONS.min(d).min((MOST_NUMBERS / d).max(4));
    let mut diagonal = Vec::new();
    let (mut basis, mut images): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    let mut small: Vec<Vec<f64>> = Vec::new();
    let mut b = gradient.to_vec();
    let length = norm(u);
    let mut next: Vec<f64> =
        if length > 0.0 { u.iter().map(|x| x / length).collect() } else { gradient.to_vec() };
    let mut begun = None;
    loop {
        // Twice is enough (Kahan).
        for _ in 0..2 {
            for q in &basis {
                let part = dot(&next, q);
                add(&mut next, -part, q);
            }
            let left = norm(&next);
            if left > 0.0 {
                for x in &mut next {
                    *x /= left;
                }
            }
        }
        let wanted = diagonal.is_empty();
        let image = problem.product(&next, curvature, wanted.then_some(&mut diagonal))?;
        if basis.is_empty() && length > 0.0 {
            add(&mut b, -length, &image);
        }
        basis.push(std::mem::take(&mut next));
        images.push(image);
        let k = basis.len();
        small.push((0..k).map(|j| dot(&basis[j], &images[k - 1])).collect());
        let matrix = DMatrix::from_fn(k, k, |i, j| small[i.max(j)][i.min(j)]);
        let eigen = SymmetricEigen::new(matrix);
        let beta: Vec<f64> = basis.iter().map(|q| dot(q, &b)).collect();
        let turned = eigen.eigenvectors.tr_mul(&DVector::from_vec(beta));
        let (h, l) = secular(eigen.eigenvalues.as_slice(), turned.as_slice(), limit);
        let h = &eigen.eigenvectors * DVector::from_vec(h);
        let mut v = vec![0.0; d];
        let mut residual = b.clone();
        for ((q, image), h) in basis.iter().zip(&images).zip(h.iter()) {
            add(&mut v, *h, q);
            add(&mut residual, *h, image);
        }
        add(&mut residual, l, &v);
        let size = norm(&residual);
        let first = *begun.get_or_insert(size);
        if k >= most || size <= accuracy * first || size == 0.0 {
            return Ok((v, l));
        }
        let largest = diagonal.iter().fold(0.0, |m: f64, x| m.max(*x));
        next = residual.iter().zip(&diagonal).map(|(r, h)| r / (h + l + 1e-6 * largest)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H = diag(1, 4), b = (-3, -8): free minimum (3, 2); in the ball of radius 2 the multiplier solves
    // (3/(1+l))^2 + (8/(4+l))^2 = 4.
    #[test]
    fn the_ball_holds_the_minimum_back() {
        let hessian = vec![1.0, 0.0, 0.0, 4.0];
        let (v, l) = dense(hessian.clone(), &[-3.0, -8.0], Limit::Ball(10.0)).unwrap();
        assert!((v[0] - 3.0).abs() < 1e-9 && (v[1] - 2.0).abs() < 1e-9 && l == 0.0);
        let (v, l) = dense(hessian, &[-3.0, -8.0], Limit::Ball(2.0)).unwrap();
        assert!((norm(&v) - 2.0).abs() < 1e-9);
        assert!((v[0] - 3.0 / (1.0 + l)).abs() < 1e-9 && (v[1] - 8.0 / (4.0 + l)).abs() < 1e-9);
        let (h, m) = secular(&[1.0, 4.0], &[-3.0, -8.0], Limit::Ball(2.0));
        assert!((m - l).abs() < 1e-8 && (h[0] - v[0]).abs() < 1e-8);
        assert_eq!(secular(&[1.0], &[-3.0], Limit::Penalty(2.0)).0, [1.0]);
    }
}
