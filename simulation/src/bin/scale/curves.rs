//! Draws what was measured as curves over a logarithmic axis, in SVG.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The size of a picture, in pixels.
const SIZE: (u32, u32) = (720, 360);
/// Blue, orange, green, violet.
const COLORS: [RGBColor; 4] =
    [RGBColor(0x1f, 0x77, 0xb4), RGBColor(0xd6, 0x5f, 0x1e), RGBColor(0x2c, 0x8c, 0x4a), RGBColor(0x8a, 0x5b, 0xb5)];

/// Points, each with the coordinates of both axes.
pub type Points = Vec<(f64, f64)>;

/// A picture of several curves.
pub struct Picture {
    /// The name of its file.
    pub name: &'static str,
    pub title: &'static str,
    /// The words beside the two axes.
    pub across: &'static str,
    pub up: &'static str,
    /// Each with its name.
    pub curves: Vec<(String, Points)>,
}

impl Picture {
    /// Writes the picture into a file.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (across, up) = (self.range(|point| point.0), self.range(|point| point.1));
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 16))
            .margin(12)
            .margin_right(110)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d(across.log_scale(), up.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.across)
            .y_desc(self.up)
            .x_label_formatter(&short)
            .y_label_formatter(&short)
            .light_line_style(WHITE)
            .draw()?;
        for ((name, points), color) in self.curves.iter().zip(COLORS) {
            chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
            let style = ("sans-serif", 13).into_font().color(&color).pos(Pos::new(HPos::Left, VPos::Center));
            let beside = |point: (f64, f64)| EmptyElement::at(point) + Text::new(name.clone(), (8, 0), style.clone());
            chart.draw_series(points.last().copied().map(beside))?;
        }
        root.present()?;
        Ok(())
    }

    /// From the least to the greatest value of all curves, with a little room.
    fn range(&self, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.curves.iter().flat_map(|(_, points)| points).map(&of);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        least * 0.8..most * 1.25
    }
}

/// A number without needless digits.
fn short(number: &f64) -> String {
    if *number >= 1.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}
