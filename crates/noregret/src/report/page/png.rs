//! Charts as PNG.

use super::chart::{Chart, Mark, plane};
use super::font;
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// Pixels of the picture for one of the plane, so that it is sharp in print.
const SHARPNESS: f32 = 2.0;

fn paint(colour: &str) -> Paint<'static> {
    let part = |at: usize| u8::from_str_radix(colour.get(at..at + 2).unwrap_or("00"), 16).unwrap_or(0);
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(part(1), part(3), part(5), 255);
    paint
}

/// Charts side by side as PNG.
pub fn png(charts: &[Chart]) -> Vec<u8> {
    let (marks, width, height) = plane(charts);
    let size = |v: f64| (v * f64::from(SHARPNESS)).ceil() as u32;
    let Some(mut picture) = Pixmap::new(size(width), size(height)) else { return Vec::new() };
    picture.fill(Color::WHITE);
    let view = Transform::from_scale(SHARPNESS, SHARPNESS);
    for mark in marks {
        match mark {
            Mark::Line { points, colour, width, dash } => {
                let mut path = PathBuilder::new();
                for (k, (x, y)) in points.iter().enumerate() {
                    if k == 0 {
                        path.move_to(*x as f32, *y as f32);
                    } else {
                        path.line_to(*x as f32, *y as f32);
                    }
                }
                let Some(path) = path.finish() else { continue };
                let dash = StrokeDash::new(dash.to_vec(), 0.0);
                let stroke = Stroke { width: width as f32, dash, ..Stroke::default() };
                picture.stroke_path(&path, &paint(colour), &stroke, view, None);
            }
            Mark::Words { at, text, size, anchor, colour, upright } => {
                if let Some(path) = font::outline(&text, at, size, anchor, upright) {
                    picture.fill_path(&path, &paint(colour), FillRule::Winding, view, None);
                }
            }
        }
    }
    picture.encode_png().unwrap_or_default()
}
