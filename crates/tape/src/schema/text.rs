//! Schemas as text, as close to the Rust type as the encoding tells.

use super::{Field, Schema, Shape, ShapeId, is_tuple};
use core::fmt;

/// Reads like the Rust type: `Steer { x: i8, jump: bool }`. What is long or deep ends in `…`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(Self::ROOT).fmt(f)
    }
}

impl Schema {
    /// Returns one of the shapes as text.
    pub(crate) fn text(&self, id: ShapeId) -> impl fmt::Display {
        fmt::from_fn(move |f| Writer { schema: self, f, above: Vec::new(), left: SHAPES_SHOWN }.write(id))
    }
}

/// How deep, and how many shapes, a schema is shown: it may come from a tape that means ill.
const LEVELS_SHOWN: usize = 5;
const SHAPES_SHOWN: usize = 256;

struct Writer<'a, 'f> {
    schema: &'a Schema,
    f: &'a mut fmt::Formatter<'f>,
    above: Vec<ShapeId>,
    left: usize,
}

impl Writer<'_, '_> {
    fn write(&mut self, id: ShapeId) -> fmt::Result {
        let shape = self.schema.shape(id);
        self.left = self.left.saturating_sub(1);
        if self.above.contains(&id) || self.above.len() == LEVELS_SHOWN || self.left == 0 {
            return match shape {
                Shape::Struct { name, .. } | Shape::Enum { name, .. } if self.left > 0 => self.f.write_str(name),
                _ => self.f.write_str("…"),
            };
        }
        self.above.push(id);
        match shape {
            Shape::Bool => self.f.write_str("bool")?,
            Shape::UInt { bits } => write!(self.f, "u{bits}")?,
            Shape::Int { bits } => write!(self.f, "i{bits}")?,
            Shape::Float { bits } => write!(self.f, "f{bits}")?,
            Shape::Fixed { bits, fraction_bits, signed } => {
                let sign = if *signed { "I" } else { "U" };
                write!(self.f, "{sign}{}F{fraction_bits}", bits.saturating_sub(*fraction_bits))?;
            }
            Shape::Char => self.f.write_str("char")?,
            Shape::String => self.f.write_str("String")?,
            Shape::Duration => self.f.write_str("Duration")?,
            Shape::Entity => self.f.write_str("Entity")?,
            Shape::Option { item } => self.write_around("Option<", *item, ">")?,
            Shape::Array { item, len } => self.write_around("[", *item, &format!("; {len}]"))?,
            Shape::List { item } => self.write_around("Vec<", *item, ">")?,
            Shape::Set { item } => self.write_around("Set<", *item, ">")?,
            Shape::Map { key, value } => {
                self.write_around("Map<", *key, ", ")?;
                self.write_around("", *value, ">")?;
            }
            Shape::Tuple { items } => {
                self.write_list("(", items, |writer, item| writer.write(*item))?;
                self.f.write_str(if items.len() == 1 { ",)" } else { ")" })?;
            }
            Shape::Struct { name, fields } => {
                self.f.write_str(name)?;
                self.write_fields(fields)?;
            }
            Shape::Enum { name, variants } => {
                write!(self.f, "{name} = ")?;
                for (i, variant) in variants.iter().enumerate() {
                    if self.left == 0 {
                        self.f.write_str(" | …")?;
                        break;
                    }
                    self.left -= 1;
                    write!(self.f, "{}{}", if i == 0 { "" } else { " | " }, variant.name)?;
                    self.write_fields(&variant.fields)?;
                }
            }
        }
        self.above.pop();
        Ok(())
    }

    fn write_around(&mut self, open: &str, item: ShapeId, close: &str) -> fmt::Result {
        self.f.write_str(open)?;
        self.write(item)?;
        self.f.write_str(close)
    }

    fn write_list<T>(
        &mut self,
        open: &str,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        self.f.write_str(open)?;
        for (i, item) in items.iter().enumerate() {
            if self.left == 0 {
                return self.f.write_str(", …");
            }
            self.f.write_str(if i == 0 { "" } else { ", " })?;
            write(self, item)?;
        }
        Ok(())
    }

    fn write_fields(&mut self, fields: &[Field]) -> fmt::Result {
        if fields.is_empty() {
            return Ok(());
        }
        let tuple = is_tuple(fields);
        self.write_list(if tuple { "(" } else { " { " }, fields, |writer, field| {
            if !tuple {
                write!(writer.f, "{}: ", field.name)?;
            }
            writer.write(field.shape)
        })?;
        self.f.write_str(if tuple { ")" } else { " }" })
    }
}
