//! Letters for pictures: a part of DejaVu Sans, so that a picture looks the same on every machine.

use super::chart::Anchor;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// The letters, with their licence beside them.
const FONT: &[u8] = include_bytes!("vendor/DejaVuSans-subset.ttf");

/// Collects outlines at a place, in pixels; y grows downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// The outline of a text of `size` pixels, anchored at `at`.
pub(super) fn outline(text: &str, at: (f64, f64), size: f64, anchor: Anchor, upright: bool) -> Option<Path> {
    let face = Face::parse(FONT, 0).ok()?;
    let scale = size as f32 / f32::from(face.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale };
    for letter in text.chars() {
        let Some(glyph) = face.glyph_index(letter).or_else(|| face.glyph_index('?')) else { continue };
        face.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    }
    let width = pen.x;
    let shift = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let turn = if upright { Transform::from_rotate(-90.0) } else { Transform::identity() };
    let place =
        Transform::from_translate(shift, 0.0).post_concat(turn).post_translate(at.0 as f32, at.1 as f32);
    pen.path.finish()?.transform(place)
}
