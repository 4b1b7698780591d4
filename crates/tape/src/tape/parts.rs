//! Images and changes of values as canonical bytes.

use super::{Header, TapeError};
use crate::canonical::DecodeError;
use crate::image::{Delta, Ids, Image, Lane, LaneDelta, ResourceState};
use crate::value::Value;
use std::sync::Arc;

pub(super) type ImageParts = (u64, Vec<u64>, Vec<(Vec<u64>, Vec<u8>)>, Vec<Option<Vec<u8>>>);
pub(super) type DeltaParts =
    (u64, Vec<u64>, Vec<u64>, Vec<(u32, Vec<u64>, Vec<u64>, Vec<u8>)>, Vec<(u32, Option<Vec<u8>>)>);

pub(super) fn image_parts(image: &Image) -> ImageParts {
    let Image { tick, roster, lanes, resources } = image;
    (
        *tick,
        roster.to_vec(),
        lanes.iter().map(|lane| (lane.ids.to_vec(), lane.rows.bytes().to_vec())).collect(),
        resources.iter().map(|resource| resource.get().map(<[u8]>::to_vec)).collect(),
    )
}

/// Makes the image a header promises, without entities.
pub(super) fn empty_image(header: &Header) -> Image {
    Image {
        tick: header.tick_first,
        roster: Arc::default(),
        lanes: header.lanes.iter().map(|spec| Lane::new(&*spec.name, spec.schema.clone())).collect(),
        resources: header.resources.iter().map(|spec| ResourceState::new(&*spec.name, spec.schema.clone())).collect(),
    }
}

/// Makes ids of a list that must be ascending.
pub(super) fn sorted_ids(ids: Vec<u64>, place: &str) -> Result<Arc<Ids>, TapeError> {
    let wrong =
        || TapeError::Inconsistent { reason: format!("sim ids of {place} are out of order, or one stands twice") };
    Ids::new(ids).map(Arc::new).ok_or_else(wrong)
}

pub(super) fn image_from_parts(
    header: &Header,
    (tick, roster, lanes, resources): ImageParts,
) -> Result<Image, TapeError> {
    let mut image = empty_image(header);
    image.tick = tick;
    image.roster = sorted_ids(roster, "the initial state")?;
    if lanes.len() != image.lanes.len() || resources.len() != image.resources.len() {
        return Err(TapeError::Inconsistent { reason: "the initial state has other types than the header".into() });
    }
    for (lane, (ids, bytes)) in image.lanes.iter_mut().zip(lanes) {
        lane.ids = sorted_ids(ids, &lane.name)?;
        let mut rest = &*bytes;
        let bad = |error| TapeError::BadValue { place: format!("{} in the initial state", lane.name), error };
        for _ in 0..lane.ids.len() {
            let size = Value::measure(&lane.schema, rest).map_err(bad)?;
            lane.rows.push(|out| out.extend_from_slice(&rest[..size]));
            rest = &rest[size..];
        }
        if !rest.is_empty() {
            return Err(bad(DecodeError::LeftOver { extra: rest.len() }));
        }
    }
    for (resource, bytes) in image.resources.iter_mut().zip(resources) {
        resource.present = bytes.is_some();
        resource.bytes = bytes.unwrap_or_default();
        if resource.present {
            Value::decode(&resource.schema, &resource.bytes).map_err(|error| TapeError::BadValue {
                place: format!("{} in the initial state", resource.name),
                error,
            })?;
        }
    }
    Ok(image)
}

pub(super) fn delta_parts(delta: &Delta) -> DeltaParts {
    let Delta { tick, despawned, spawned, lanes, resources } = delta;
    let lanes = lanes
        .iter()
        .map(|LaneDelta { lane, removed, changed, bytes }| (*lane, removed.clone(), changed.clone(), bytes.clone()));
    (*tick, despawned.clone(), spawned.clone(), lanes.collect(), resources.clone())
}

pub(super) fn delta_from_parts((tick, despawned, spawned, lanes, resources): DeltaParts) -> Delta {
    let lanes = lanes.into_iter().map(|(lane, removed, changed, bytes)| LaneDelta { lane, removed, changed, bytes });
    Delta { tick, despawned, spawned, lanes: lanes.collect(), resources }
}
