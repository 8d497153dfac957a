//! What a process costs: wall time, processor time and peak memory, the same way for a floor and for ours.
//!
//! In: a prepared command. Out: [`Cost`]s and their medians. The numbers come from `wait4`, which Python reaches and safe Rust
//! does not; the wrapper's own start lies outside what it measures.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

/// Runs its arguments with their output in the files named first, and prints what they cost.
const WRAPPER: &str = "\
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
err = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
start = time.monotonic()
child = os.posix_spawnp(sys.argv[3], sys.argv[3:], os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
wall = time.monotonic() - start
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
";

/// What one process cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// From start to end.
    pub wall: Duration,
    /// User and system time.
    pub cpu: Duration,
    /// The most memory that it held, in bytes.
    pub peak: u64,
    /// What it printed.
    pub stdout: String,
}

/// Runs a command to its end; anything but the exit code `expected` ends the benchmark with the command's own words.
pub fn run(command: &Command, scratch: &Path, expected: i32) -> Cost {
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    let mut wrapped = Command::new("python3");
    wrapped.args(["-S", "-E", "-c", WRAPPER]).args([&out, &err]);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.env_clear().stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    let done = wrapped.output().expect("python3");
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let report = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut numbers = report.split_whitespace().map(|n| n.parse::<f64>().expect("a number"));
    let mut next = || numbers.next().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&done.stderr)));
    let (code, wall, cpu, kibibytes) = (next(), next(), next(), next());
    let stdout = text(&out);
    assert_eq!(code as i32, expected, "{command:?} ended with {code}\n{stdout}\n{}", text(&err));
    Cost {
        wall: Duration::from_secs_f64(wall),
        cpu: Duration::from_secs_f64(cpu),
        peak: kibibytes as u64 * 1024,
        stdout,
    }
}

/// Prepares a program with the few variables that one needs.
pub fn program(path: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(path);
    command.env_clear().current_dir(home);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("TMPDIR", home).env("XDG_CACHE_HOME", home.join(".cache"));
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// Prepares uplinker.
pub fn uplinker(home: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_uplinker"), home)
}

/// Returns the seconds that this thread has spent on a core: what else runs on the machine is not in them.
pub fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel's count");
    let nanoseconds = text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}

/// Returns the middle value.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Returns the middle of the wall times, in seconds.
pub fn wall(costs: &[Cost]) -> f64 {
    median(costs.iter().map(|c| c.wall.as_secs_f64()).collect())
}

/// Returns the middle of the processor times, in seconds.
pub fn cpu(costs: &[Cost]) -> f64 {
    median(costs.iter().map(|c| c.cpu.as_secs_f64()).collect())
}

/// Returns the largest peak, in bytes: memory has no lucky round.
pub fn peak(costs: &[Cost]) -> f64 {
    costs.iter().map(|c| c.peak).max().unwrap_or_default() as f64
}
