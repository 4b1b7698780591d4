//! Colours and shapes: Okabe and Ito's palette, which people with any kind of colour vision tell apart, and a shape of
//! its own for everything that has a colour.

use super::timeline::Mark;
use bevy_egui::egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, Vec2, Visuals, pos2, vec2};

const BLACK: Color32 = Color32::from_rgb(0x00, 0x00, 0x00);
const ORANGE: Color32 = Color32::from_rgb(0xE6, 0x9F, 0x00);
const SKY_BLUE: Color32 = Color32::from_rgb(0x56, 0xB4, 0xE9);
const GREEN: Color32 = Color32::from_rgb(0x00, 0x9E, 0x73);
const YELLOW: Color32 = Color32::from_rgb(0xF0, 0xE4, 0x42);
const BLUE: Color32 = Color32::from_rgb(0x00, 0x72, 0xB2);
const VERMILION: Color32 = Color32::from_rgb(0xD5, 0x5E, 0x00);
const PURPLE: Color32 = Color32::from_rgb(0xCC, 0x79, 0xA7);

/// What the inspector is painted with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    is_dark: bool,
    /// Behind everything.
    pub(super) fill: Color32,
    /// Behind the timeline, and what is typed.
    pub(super) deep: Color32,
    /// Behind a button.
    pub(super) button: Color32,
    /// Behind what is selected.
    pub(super) selected: Color32,
    pub(super) text: Color32,
    /// Text that matters less.
    pub(super) quiet: Color32,
    pub(super) line: Color32,
}

impl Palette {
    pub(super) fn new(is_dark: bool) -> Self {
        let gray = Color32::from_gray;
        match is_dark {
            true => Self {
                is_dark,
                fill: gray(0x1E),
                deep: gray(0x12),
                button: gray(0x38),
                selected: Color32::from_rgb(0x16, 0x44, 0x5E),
                text: gray(0xEC),
                quiet: gray(0xB4),
                line: gray(0x48),
            },
            false => Self {
                is_dark,
                fill: gray(0xF7),
                deep: gray(0xFF),
                button: gray(0xE2),
                selected: Color32::from_rgb(0xC4, 0xE3, 0xF5),
                text: gray(0x16),
                quiet: gray(0x55),
                line: gray(0xC4),
            },
        }
    }

    /// Returns the colour of a sign; of bars and signs alone, never of text.
    pub(super) fn color(&self, mark: Mark) -> Color32 {
        match (mark, self.is_dark) {
            (Mark::Same, _) => GREEN,
            (Mark::Differs, _) => VERMILION,
            (Mark::Activity | Mark::Expected, true) => SKY_BLUE,
            (Mark::Activity | Mark::Expected, false) => BLUE,
            (Mark::Keyframe, true) => PURPLE,
            (Mark::Keyframe, false) => BLACK,
            (Mark::Bookmark, true) => YELLOW,
            (Mark::Bookmark, false) => BLUE,
            (Mark::Branch | Mark::Got, true) => ORANGE,
            (Mark::Branch | Mark::Got, false) => VERMILION,
        }
    }

    /// Sets the colours of egui's widgets.
    pub(super) fn apply(&self, visuals: &mut Visuals) {
        visuals.override_text_color = Some(self.text);
        visuals.weak_text_color = Some(self.quiet);
        (visuals.window_fill, visuals.panel_fill) = (self.fill, self.fill);
        visuals.extreme_bg_color = self.deep;
        visuals.selection.bg_fill = self.selected;
        visuals.selection.stroke = Stroke::new(1.0, self.text);
        visuals.window_stroke = Stroke::new(1.0, self.line);
        let widgets = &mut visuals.widgets;
        widgets.noninteractive.bg_stroke = Stroke::new(1.0, self.line);
        for widget in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active, &mut widgets.open] {
            (widget.weak_bg_fill, widget.bg_fill) = (self.button, self.button);
            widget.fg_stroke.color = self.text;
        }
        for widget in [&mut widgets.hovered, &mut widgets.active] {
            widget.bg_stroke = Stroke::new(1.5, self.text); // where the keyboard is, too
            widget.expansion = 0.0;
        }
    }
}

/// The shape of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Disc,
    Triangle,
    Square,
    Bar,
    Flag,
    Diamond,
    Ring,
    Cross,
}

fn sign(mark: Mark) -> Sign {
    match mark {
        Mark::Same => Sign::Disc,
        Mark::Differs => Sign::Triangle,
        Mark::Activity => Sign::Square,
        Mark::Keyframe => Sign::Bar,
        Mark::Bookmark => Sign::Flag,
        Mark::Branch => Sign::Diamond,
        Mark::Expected => Sign::Ring,
        Mark::Got => Sign::Cross,
    }
}

/// Paints a sign, about as high as `size`.
pub(super) fn paint_sign(painter: &Painter, center: Pos2, size: f32, mark: Mark, palette: &Palette) {
    let (color, r) = (palette.color(mark), size / 2.0);
    let polygon = |points: &[Vec2]| {
        let points = points.iter().map(|point| center + *point * r).collect();
        painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    };
    match sign(mark) {
        Sign::Disc => _ = painter.circle_filled(center, r * 0.9, color),
        Sign::Ring => _ = painter.circle_stroke(center, r * 0.75, Stroke::new(2.0, color)),
        Sign::Triangle => polygon(&[vec2(0.0, -1.0), vec2(1.0, 0.8), vec2(-1.0, 0.8)]),
        Sign::Diamond => polygon(&[vec2(0.0, -1.0), vec2(0.9, 0.0), vec2(0.0, 1.0), vec2(-0.9, 0.0)]),
        Sign::Square => _ = painter.rect_filled(Rect::from_center_size(center, Vec2::splat(size * 0.75)), 1.0, color),
        Sign::Bar => _ = painter.rect_filled(Rect::from_center_size(center, vec2(2.0, size)), 0.0, color),
        Sign::Flag => {
            painter.line_segment([center + vec2(0.0, -r), center + vec2(0.0, r)], Stroke::new(1.5, color));
            polygon(&[vec2(0.0, -1.0), vec2(1.4, -0.45), vec2(0.0, 0.1)]);
        }
        Sign::Cross => {
            let r = r * 0.8;
            for x in [-r, r] {
                let ends = [pos2(center.x - x, center.y - r), pos2(center.x + x, center.y + r)];
                painter.line_segment(ends, Stroke::new(2.0, color));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2: the relative luminance of an sRGB colour.
    fn luminance(color: Color32) -> f64 {
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(color.r()) + 0.7152 * part(color.g()) + 0.0722 * part(color.b())
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    const MARKS: [Mark; 8] = [
        Mark::Same,
        Mark::Differs,
        Mark::Activity,
        Mark::Keyframe,
        Mark::Bookmark,
        Mark::Branch,
        Mark::Expected,
        Mark::Got,
    ];

    #[test]
    fn black_on_white_is_the_known_contrast() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn text_is_legible_in_dark_and_light() {
        for palette in [Palette::new(true), Palette::new(false)] {
            for behind in [palette.fill, palette.deep, palette.button, palette.selected] {
                for text in [palette.text, palette.quiet] {
                    let contrast = contrast(text, behind);
                    assert!(contrast >= 4.5, "{text:?} on {behind:?}: {contrast:.2}");
                }
            }
        }
    }

    #[test]
    fn signs_stand_out_and_each_has_a_shape_of_its_own() {
        for (index, mark) in MARKS.into_iter().enumerate() {
            for palette in [Palette::new(true), Palette::new(false)] {
                for behind in [palette.fill, palette.deep] {
                    let contrast = contrast(palette.color(mark), behind);
                    assert!(contrast >= 3.0, "{mark:?} on {behind:?}: {contrast:.2}");
                }
            }
            assert!(MARKS[..index].iter().all(|other| sign(*other) != sign(mark)), "{mark:?}");
        }
    }
}
