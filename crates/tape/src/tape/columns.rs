//! Changes of an input as columns: each byte of the value has its own ticks and its own new bytes.
//!
//! Most changes of an input touch one of its fields, and the bytes of one field resemble each other; both together
//! make the inputs of played games about a third smaller after deflate than whole values do.

use super::Changes;

/// Values wider than that, and those without one width, are stored as they are.
const WIDTH_MAX: usize = 256;

/// Writes changes: when they were into `out`, what they were into `bytes`, which follows for all tracks at once.
///
/// `before` is the value before them, and becomes that after them.
pub(super) fn put(
    (out, bytes): (&mut Vec<u8>, &mut Vec<u8>),
    base: u64,
    width: Option<usize>,
    before: &mut Option<Vec<u8>>,
    changes: &[(u64, &[u8])],
) {
    put_varint(out, changes.len() as u64);
    let Some((_, last)) = changes.last() else { return };
    // A value that is none of its type is written as it is, and refused when it is read.
    let values = || changes.iter().map(|change| change.1).chain(before.as_deref());
    let fits = |width: &usize| (1..=WIDTH_MAX).contains(width) && values().all(|value| value.len() == *width);
    let width = width.filter(fits).unwrap_or(0);
    put_varint(out, width as u64);
    if width == 0 {
        put_ticks(out, base, changes.iter().map(|change| change.0));
        changes.iter().for_each(|change| put_varint(out, change.1.len() as u64));
        changes.iter().for_each(|change| bytes.extend_from_slice(change.1));
    }
    let mut ticks: Vec<u64> = Vec::with_capacity(changes.len());
    for index in 0..width {
        let mut byte = before.as_ref().map(|value| value[index]);
        ticks.clear();
        for (tick, value) in changes {
            if byte.replace(value[index]) != Some(value[index]) {
                ticks.push(*tick);
                bytes.push(value[index]);
            }
        }
        put_varint(out, ticks.len() as u64);
        put_ticks(out, base, ticks.iter().copied());
    }
    *before = Some(last.to_vec());
}

/// When the changes of a track were, before it is known what they were.
pub(super) enum When {
    /// The tick and the length of each value.
    Whole(Vec<(u64, u64)>),
    /// The ticks of all changes, and those of each column.
    Columns(Vec<u64>, Vec<Vec<u64>>),
}

/// Reads when the changes of a track were.
///
/// `grow` is asked before memory for values is set aside. The error says what is wrong.
pub(super) fn read_when<E>(
    input: &mut &[u8],
    base: u64,
    width: Option<usize>,
    grow: impl FnOnce(u64) -> Result<(), E>,
) -> Result<When, ColumnError<E>> {
    let count = varint(input)?;
    if count == 0 {
        return Ok(When::Whole(Vec::new()));
    }
    let stored = varint(input)?;
    let expected = width.filter(|width| (1..=WIDTH_MAX).contains(width)).unwrap_or(0);
    if stored != expected as u64 {
        return Err("the width of its values is not that of its type".into());
    }
    let count = items(count, input)?;
    // Ticks, ends, and both lists of them.
    grow((count as u64).saturating_mul(expected as u64 + 48)).map_err(ColumnError::Refused)?;
    if expected == 0 {
        let ticks = read_ticks(input, base, count)?;
        let with_length = |tick| Ok((tick, varint(input)?));
        return Ok(When::Whole(ticks.into_iter().map(with_length).collect::<Result<_, &'static str>>()?));
    }
    let (mut all, mut columns) = (Vec::new(), Vec::with_capacity(expected));
    for _ in 0..expected {
        let entries = varint(input)?;
        let entries = items(entries, input)?;
        let ticks = read_ticks(input, base, entries)?;
        all.extend_from_slice(&ticks);
        columns.push(ticks);
    }
    all.sort(); // the ticks of each column ascend: this sort merges them, the unstable one would not
    all.dedup();
    if all.len() != count {
        return Err(ColumnError::Bad(format!("it has {} changes, not the {count} that it claims", all.len())));
    }
    Ok(When::Columns(all, columns))
}

/// Reads what the changes of a track were, and appends them to those before.
pub(super) fn read_what<E>(input: &mut &[u8], when: When, changes: &mut Changes) -> Result<(), ColumnError<E>> {
    let (ticks, columns) = match when {
        When::Columns(ticks, columns) => (ticks, columns),
        When::Whole(rows) => {
            return rows.into_iter().try_for_each(|(tick, length)| record(changes, tick, take(input, length)?));
        }
    };
    let bytes: Vec<&[u8]> =
        columns.iter().map(|ticks| take(input, ticks.len() as u64)).collect::<Result<_, &'static str>>()?;
    let before = changes.last().map(|(tick, value)| (tick, value.to_vec()));
    let (mut last, mut value) = before.map_or((None, vec![0; columns.len()]), |(tick, value)| (Some(tick), value));
    let mut next = vec![0_usize; columns.len()];
    for tick in ticks {
        let mut is_change = last.is_none();
        for ((byte, next), (ticks, bytes)) in value.iter_mut().zip(&mut next).zip(columns.iter().zip(&bytes)) {
            if ticks.get(*next) == Some(&tick) {
                is_change |= *byte != bytes[*next];
                *byte = bytes[*next];
                *next += 1;
            } else if last.is_none() {
                return Err("its first value is not whole".into());
            }
        }
        if !is_change || last.replace(tick).is_some_and(|last| last >= tick) {
            return Err(no_change(tick));
        }
        changes.push(tick, &value);
    }
    Ok(())
}

/// Why a track cannot be read.
pub(super) enum ColumnError<E> {
    /// It is damaged.
    Bad(String),
    /// It is larger than allowed.
    Refused(E),
}

impl<E> From<&str> for ColumnError<E> {
    fn from(reason: &str) -> Self {
        Self::Bad(reason.into())
    }
}

fn record<E>(changes: &mut Changes, tick: u64, value: &[u8]) -> Result<(), ColumnError<E>> {
    if changes.record(tick, value) {
        return Ok(());
    }
    Err(no_change(tick))
}

fn no_change<E>(tick: u64) -> ColumnError<E> {
    ColumnError::Bad(format!("it does not change at tick {tick}"))
}

/// Each tick by how many lie between it and the one before.
pub(super) fn put_ticks(out: &mut Vec<u8>, base: u64, ticks: impl Iterator<Item = u64>) {
    let mut next = base;
    for tick in ticks {
        put_varint(out, tick.wrapping_sub(next));
        next = tick.wrapping_add(1);
    }
}

pub(super) fn read_ticks(input: &mut &[u8], base: u64, count: usize) -> Result<Vec<u64>, &'static str> {
    let mut ticks = Vec::with_capacity(count);
    let mut next = Some(base);
    for _ in 0..count {
        let skipped = varint(input)?;
        let tick = next.and_then(|next| next.checked_add(skipped)).ok_or("a tick above 2^64")?;
        ticks.push(tick);
        next = tick.checked_add(1);
    }
    Ok(ticks)
}

/// Checks a count of items that take at least a byte each.
pub(super) fn items(count: u64, input: &[u8]) -> Result<usize, &'static str> {
    usize::try_from(count).ok().filter(|count| *count <= input.len()).ok_or("it claims more than it holds")
}

fn take<'a>(input: &mut &'a [u8], length: u64) -> Result<&'a [u8], &'static str> {
    let split = usize::try_from(length).ok().and_then(|length| input.split_at_checked(length));
    let (head, tail) = split.ok_or("it ends early")?;
    *input = tail;
    Ok(head)
}

/// Seven bits a byte, low ones first; the top bit says that more follow.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

pub(super) fn varint(input: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = input.split_first().ok_or("it ends early")?;
        *input = tail;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number above 2^64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut input = &*out;
            assert_eq!(varint(&mut input), Ok(value));
            assert!(input.is_empty());
        }
        assert_eq!(varint(&mut &[0x80; 12][..]), Err("a number above 2^64"));
        assert_eq!(varint(&mut &[0xff; 12][..]), Err("a number above 2^64"));
        assert_eq!(varint(&mut &[0x80][..]), Err("it ends early"));
    }

    #[test]
    fn ticks_at_the_end_of_time_are_read_back() {
        let ticks = [3, 4, 9, u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        put_ticks(&mut out, 3, ticks.into_iter());
        assert_eq!(read_ticks(&mut &*out, 3, 5), Ok(ticks.to_vec()));
        assert_eq!(read_ticks(&mut &*out, 4, 5), Err("a tick above 2^64"));
    }
}
