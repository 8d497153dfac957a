//! A clock for the program that leaps ahead whenever it does nothing but sleep: `clock.c`, loaded into it. A day takes as
//! long as the work of a day.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt as _,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use tempfile::TempDir;

use super::{
    preload::{Made, library},
    process::Run,
};

static LIBRARY: Made = Made::new();

/// How long the program may be in getting from one time to the next.
const PATIENCE: Duration = Duration::from_secs(3600);
const SECOND: i64 = 1_000_000_000;

/// A clock; it goes on while the program is not running, and stays what it is when the program is started again.
pub struct Clock {
    file: File,
    folder: TempDir,
}

// === impl Clock ===

impl Clock {
    /// A clock that shows a time now.
    pub fn at(time: &str) -> Arc<Self> {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("clock");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("a file");
        let start: Timestamp = time.parse().expect("a time");
        let clock = Self { file, folder };
        clock.put(0, 0);
        clock.put(1, start.as_second() * SECOND - machine());
        clock.put(2, 0);
        Arc::new(clock)
    }

    /// Gives it to the daemon, which does nothing when so many of its threads sleep.
    pub fn given_to(&self, run: Run, sleepers: usize) -> Run {
        run.env("LD_PRELOAD", library("clock.c", &LIBRARY))
            .env("CLOCK_FILE", self.folder.path().join("clock"))
            .env("CLOCK_SLEEPERS", sleepers.to_string())
    }

    /// The time that it shows, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.exactly() / SECOND
    }

    /// Lets it go on to a time, and waits for that.
    pub fn until(&self, time: i64) {
        self.put(2, time * SECOND);
        let start = Instant::now();
        while self.exactly() < time * SECOND {
            assert!(start.elapsed() < PATIENCE, "it never is {time}, but {}", self.now());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn exactly(&self) -> i64 {
        machine() + self.get(0) + self.get(1)
    }

    fn get(&self, place: u64) -> i64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, place * 8).expect("a number");
        i64::from_ne_bytes(bytes)
    }

    fn put(&self, place: u64, number: i64) {
        self.file.write_all_at(&number.to_ne_bytes(), place * 8).expect("a file");
    }
}

fn machine() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(since.as_nanos()).expect("a time before 2262")
}
