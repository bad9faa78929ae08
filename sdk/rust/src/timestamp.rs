//! RFC 3339 as the service writes it, without a library for calendars: only UTC is written.

const NS: i128 = 1_000_000_000;
const DAY_SECONDS: i128 = 86_400;

/// Days since 1970-01-01 of a date. See Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn days_of(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i128::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// Nanoseconds since 1970 as text, with three, six or nine digits of fraction, as many as there are.
pub(crate) fn write(epoch_ns: i128) -> String {
    let (seconds, ns) = (epoch_ns.div_euclid(NS), epoch_ns.rem_euclid(NS));
    let (year, month, day) = date_of(seconds.div_euclid(DAY_SECONDS));
    let second = seconds.rem_euclid(DAY_SECONDS);
    let (digits, fraction) = match ns {
        ns if ns % 1_000_000 == 0 => (3, ns / 1_000_000),
        ns if ns % 1000 == 0 => (6, ns / 1000),
        ns => (9, ns),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}Z")
}

/// Nanoseconds since 1970; nothing where the text is no RFC 3339.
pub(crate) fn read(text: &str) -> Option<i128> {
    let number = |from: usize, to: usize| -> Option<i128> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let sign = |at: usize, signs: &[u8]| text.as_bytes().get(at).filter(|byte| signs.contains(byte)).copied();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    sign(4, b"-")?;
    sign(7, b"-")?;
    sign(10, b"Tt ")?;
    sign(13, b":")?;
    sign(16, b":")?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut ns = 0;
    if sign(at, b".").is_some() {
        let digits = text.get(at + 1..)?.bytes().take_while(u8::is_ascii_digit).count();
        let written = number(at + 1, at + 1 + digits.min(9)).filter(|_| digits > 0)?;
        ns = written * 10_i128.pow(u32::try_from(9 - digits.min(9)).ok()?);
        at += 1 + digits;
    }
    let offset = match sign(at, b"Zz+-")? {
        b'Z' | b'z' if text.len() == at + 1 => 0,
        way @ (b'+' | b'-') if text.len() == at + 6 && sign(at + 3, b":").is_some() => {
            let seconds = number(at + 1, at + 3)? * 3600 + number(at + 4, at + 6)? * 60;
            if way == b'+' {
                seconds
            } else {
                -seconds
            }
        }
        _ => return None,
    };
    let seconds = days_of(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second - offset;
    Some(seconds * NS + ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn timestamps_are_written_and_read_as_the_vectors_say() {
        for case in vectors::cases("timestamps") {
            let ns: i128 = case["epoch_ns"].as_str().unwrap().parse().unwrap();
            let text = case["text"].as_str().unwrap();
            assert_eq!(write(ns), text);
            assert_eq!(read(text), Some(ns), "{text}");
            for other in case["read"].as_array().unwrap() {
                assert_eq!(read(other.as_str().unwrap()), Some(ns), "{other}");
            }
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_read_as_it_is_written() {
        for day in -146_097..146_097_i128 {
            let ns = day * DAY_SECONDS * NS + 1;
            assert_eq!(read(&write(ns)), Some(ns), "day {day}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-11-20",
            "2026-13-01T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T09:00:00",
            "2026-11-20T09:00:00.Z",
            "2026-11-20T09:00:00Zx",
            "+026-11-20T09:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
