//! How often the streams of random numbers were drawn from, as images tell it.

use crate::image::Image;
use crate::value::Value;
use core::fmt;
use std::collections::BTreeSet;

/// How often a stream was drawn from, from the start on; draws of single entities are counted with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamDraws {
    /// Name of the stream.
    pub name: String,
    /// How many draws were expected, where the image is known.
    pub expected: Option<u64>,
    /// How many there were, where the image is known.
    pub got: Option<u64>,
}

impl StreamDraws {
    /// Returns how many draws there were too many (or, below zero, too few), if the numbers are known and differ.
    #[must_use]
    pub fn excess(&self) -> Option<i128> {
        let (expected, got) = self.expected.zip(self.got)?;
        (expected != got).then(|| i128::from(got) - i128::from(expected))
    }

    /// Compares the streams of two states, ascending by name.
    #[must_use]
    pub fn between(expected: Option<&Image>, got: Option<&Image>) -> Vec<Self> {
        of(expected, got)
    }

    /// Returns how often a stream was drawn from, from the start on, as the state tells it.
    #[must_use]
    pub fn count(image: &Image, stream: &str) -> Option<u64> {
        draws(image, stream)
    }
}

impl fmt::Display for StreamDraws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, got } = self;
        let draws = |count: &u64| format!("{count} draw{}", if *count == 1 { "" } else { "s" });
        match (expected, got) {
            (Some(expected), Some(got)) if expected != got => {
                write!(f, "{name}: expected {}, got {got}", draws(expected))
            }
            (Some(count), _) | (None, Some(count)) => write!(f, "{name}: {}", draws(count)),
            (None, None) => f.write_str(name),
        }
    }
}

/// Compares the streams of two images, ascending by name.
pub(super) fn of(expected: Option<&Image>, got: Option<&Image>) -> Vec<StreamDraws> {
    let names: BTreeSet<&str> = [expected, got].into_iter().flatten().flat_map(streams).collect();
    let row = |name: &str| StreamDraws {
        name: name.into(),
        expected: expected.and_then(|image| draws(image, name)),
        got: got.and_then(|image| draws(image, name)),
    };
    names.into_iter().map(row).collect()
}

/// A stream is the resource of that name.
fn streams(image: &Image) -> impl Iterator<Item = &str> {
    image.resources.iter().filter_map(|resource| resource.name.strip_prefix("Stream<")?.strip_suffix('>'))
}

/// Adds up all fields called `draws` in the value of a stream: its own, and those of entities.
fn draws(image: &Image, name: &str) -> Option<u64> {
    let resource = image.resource(&format!("Stream<{name}>"))?;
    let value = Value::decode(&resource.schema, resource.get()?).ok()?;
    let mut sum = 0_u64;
    let mut below = vec![(String::new(), &value)];
    while let Some((step, value)) = below.pop() {
        match value {
            Value::UInt(count) if step == ".draws" => {
                sum = sum.saturating_add(u64::try_from(*count).unwrap_or(u64::MAX));
            }
            _ => below.extend(value.parts()),
        }
    }
    Some(sum)
}
