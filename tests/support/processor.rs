//! What a process has computed, whatever else the machine does meanwhile.

use std::time::Duration;

/// Returns how long a process and the children that it has waited for have computed; `None` where the system does not tell.
pub fn computed(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything, utime is the twelfth field; ticks are hundredths of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(ticks.sum::<Option<u64>>()? * 10))
}
