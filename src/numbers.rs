//! Numbers as people read them.

use core::time::Duration;

/// `2,624`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `00:41`, and `1:00:41` from an hour on.
pub(crate) fn clock(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    match minutes / 60 {
        0 => format!("{minutes:02}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    }
}

/// `812 B`, `24 KB`, `1.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1_000, 2_624_001].map(grouped), ["0", "999", "1,000", "2,624,001"]);
        assert_eq!([41, 3_599, 3_641].map(|s| clock(Duration::from_secs(s))), ["00:41", "59:59", "1:00:41"]);
        assert_eq!([999, 24_100, 1_450_000].map(size), ["999 B", "24 KB", "1.4 MB"]);
    }
}
