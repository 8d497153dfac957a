//! Another program, run to its end within limits: of time, of output, of memory.
//!
//! In: a program, its arguments, and all of its environment. Out: what it printed. Nothing is inherited but the
//! processor: no variable, no input, no open file. A program that goes over a limit is ended with everything that it
//! started.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    io::Read,
    os::unix::{
        fs::PermissionsExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often limits are looked at while a program is silent.
const TICK: Duration = Duration::from_millis(20);

/// How long a program that has ended may leave its output open in the hands of another. Long, since any other program that
/// starts at that moment has a copy of it until it is loaded, which takes its time on a busy machine.
const GRACE: Duration = Duration::from_secs(5);

/// No more than this is kept of what a program says on stderr.
const STDERR_KEPT: usize = 64 * 1024;

/// A program to be run.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// All of its environment.
    pub environment: &'a [(&'static str, OsString)],
    /// The folder that it runs in.
    pub folder: &'a Path,
    /// What it may use.
    pub limits: Limits,
}

/// What a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time of a processor; only held where the system has `/proc`. It is the lesser one, so that what comes out does not
    /// depend on what else the machine does.
    pub processor: Duration,
    /// Wall-clock time, for a program that only waits.
    pub time: Duration,
    /// Bytes on stdout, and as many on stderr.
    pub output: usize,
    /// Bytes of memory; only held where the system has `/proc`.
    pub memory: u64,
}

/// What a program left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// All that it printed.
    pub stdout: Vec<u8>,
    /// The beginning of what it complained about.
    pub stderr: String,
    /// How long it kept processors busy; only known where the system has `/proc`.
    pub processor: Duration,
}

/// A program that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// It cannot be started: the operator's fault.
    #[error("{program} cannot be started: {reason}")]
    Start {
        /// The program.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// Too slow, whatever it waited for.
    #[error("took longer than {} s", .0.as_secs_f32())]
    Time(Duration),
    /// Too much to do.
    #[error("kept a processor busy for longer than {} s", .0.as_secs_f32())]
    Processor(Duration),
    /// Too much output.
    #[error("printed more than {0} bytes")]
    Output(usize),
    /// Too much memory.
    #[error("used more than {} MiB of memory", .0 / (1024 * 1024))]
    Memory(u64),
    /// It ended, and something that it started did not.
    #[error("left a process behind that keeps its output open")]
    Left,
    /// The system failed.
    #[error("{0}")]
    System(String),
}

/// The program and whatever it starts: ended, whichever way this value goes.
struct Group {
    child: Child,
    group: Pid,
    reaped: bool,
}

/// What a reader of one pipe has to say.
enum News {
    Over,
    End,
}

type Kept = Arc<Mutex<Vec<u8>>>;

/// Why a program was not found: the operator's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No file is there.
    Missing,
    /// A file is there that may not be run.
    NotExecutable,
}

/// Finds a program: a path as it is, a bare name in the folders of `PATH`.
///
/// # Errors
/// Where there is none, or none that may be run.
pub fn find(program: &Path) -> Result<PathBuf, NotFound> {
    if program.components().count() > 1 || program.is_absolute() {
        return match is_program(program) {
            true => Ok(program.to_owned()),
            false if program.is_file() => Err(NotFound::NotExecutable),
            false => Err(NotFound::Missing),
        };
    }
    env::var_os("PATH").and_then(|folders| find_in(program, &folders)).ok_or(NotFound::Missing)
}

/// Finds a bare name in a list of folders as `PATH` has it.
fn find_in(program: &Path, folders: &OsStr) -> Option<PathBuf> {
    // A relative folder would let the place that uplinker is started from choose the program.
    let folders = env::split_paths(folders).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end.
pub fn run(call: &Call<'_>) -> Result<Done, ProcessError> {
    let start = Instant::now();
    let mut group = Group::start(call)?;
    let (sender, news) = mpsc::channel();
    let limits = call.limits;
    let stdout = group.child.stdout.take().map(|pipe| keep(pipe, limits.output, limits.output, &sender));
    let stderr = group.child.stderr.take().map(|pipe| keep(pipe, STDERR_KEPT, limits.output, &sender));
    drop(sender);
    group.watch(&news, start, limits)?;
    let (status, processor) = group.reap(start, limits)?;
    let take = |kept: Option<Kept>| kept.map(|k| std::mem::take(&mut *lock(&k))).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&take(stderr)).into_owned();
    Ok(Done { code: status.code(), signal: status.signal(), stdout: take(stdout), stderr, processor })
}

/// Reads a pipe to its end in a thread of its own: the first bytes are kept, the rest only counted.
fn keep(mut pipe: impl Read + Send + 'static, kept: usize, most: usize, news: &Sender<News>) -> Kept {
    let store = Kept::default();
    let (filled, news) = (Arc::clone(&store), news.clone());
    std::thread::spawn(move || {
        let (mut buffer, mut seen) = (vec![0; 64 * 1024], 0_usize);
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            seen = seen.saturating_add(count);
            let mut store = lock(&filled);
            let room = kept.saturating_sub(store.len()).min(count);
            store.extend_from_slice(buffer.get(..room).unwrap_or_default());
            if seen > most {
                // The watcher ends the program, and with it this pipe; where it is gone already, nobody is left to tell.
                let _ = news.send(News::Over);
                break;
            }
        }
        let _ = news.send(News::End);
    });
    store
}

fn lock(kept: &Kept) -> std::sync::MutexGuard<'_, Vec<u8>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Group ===

impl Group {
    fn start(call: &Call<'_>) -> Result<Self, ProcessError> {
        let mut command = Command::new(call.program);
        command
            .args(call.arguments)
            .env_clear()
            .envs(call.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(call.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let refused = |e: io::Error| ProcessError::Start {
            program: call.program.display().to_string(),
            reason: e.to_string(),
        };
        let child = command.spawn().map_err(refused)?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, reaped: false })
    }

    /// Waits until both pipes are at their end.
    fn watch(&self, news: &Receiver<News>, start: Instant, limits: Limits) -> Result<(), ProcessError> {
        let mut ended = None;
        loop {
            match news.recv_timeout(TICK) {
                Ok(News::Over) => return Err(ProcessError::Output(limits.output)),
                // Both senders are gone: both pipes are at their end.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(News::End) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.within(start, limits)?;
            if ended.is_none() && self.has_ended() {
                ended = Some(Instant::now());
            }
            if ended.is_some_and(|at| at.elapsed() > GRACE) {
                return Err(ProcessError::Left);
            }
        }
    }

    /// Takes the exit status of a program whose pipes are at their end, and ends what it left running.
    fn reap(&mut self, start: Instant, limits: Limits) -> Result<(ExitStatus, Duration), ProcessError> {
        while !self.has_ended() {
            self.within(start, limits)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        let processor = processor_time(self.group).unwrap_or_default();
        self.end();
        let status = self.child.wait().map_err(|e| ProcessError::System(e.to_string()))?;
        self.reaped = true;
        Ok((status, processor))
    }

    fn within(&self, start: Instant, limits: Limits) -> Result<(), ProcessError> {
        if start.elapsed() > limits.time {
            return Err(ProcessError::Time(limits.time));
        }
        if processor_time(self.group).is_some_and(|used| used > limits.processor) {
            return Err(ProcessError::Processor(limits.processor));
        }
        match resident(self.group).is_some_and(|bytes| bytes > limits.memory) {
            true => Err(ProcessError::Memory(limits.memory)),
            false => Ok(()),
        }
    }

    /// Tells whether the program has ended, and leaves it to be waited for: until then its number is not given to
    /// another process, so that the group can be ended safely.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.group), options).map_or(true, |status| status.is_some())
    }

    fn end(&self) {
        // It fails where all of the group has ended, which is what is wanted.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            self.end();
            let _ = self.child.wait();
        }
    }
}

/// Returns how long a process has kept processors busy, with what it started and waited for.
fn processor_time(process: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The second field is the program's name in parentheses, with whatever characters; user and system time, its own and
    // that of its children, are fields 14 to 17.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Vec<u64> = fields.split(' ').skip(11).take(4).map_while(|ticks| ticks.parse().ok()).collect();
    let ticks = (ticks.len() == 4).then(|| ticks.iter().sum::<u64>())?;
    Some(Duration::from_millis(ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1)))
}

/// Returns how much memory a process has in use.
fn resident(process: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limits: Limits) -> Result<Done, ProcessError> {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c".into(), script.into()];
        let environment = [("ONLY", "this".into())];
        let program = Path::new("/bin/sh");
        run(&Call {
            program,
            arguments: &arguments,
            environment: &environment,
            folder: folder.path(),
            limits,
        })
    }

    const LIMITS: Limits = Limits {
        processor: Duration::from_secs(20),
        time: Duration::from_secs(20),
        output: 1000,
        memory: 1 << 30,
    };

    #[test]
    fn a_program_is_run_to_its_end_with_nothing_inherited() {
        let done = sh("cat; pwd >&2; echo $ONLY $HOME $CARGO; exit 3", LIMITS).unwrap();
        assert_eq!((done.code, done.signal), (Some(3), None));
        assert_eq!(String::from_utf8(done.stdout).unwrap(), "this\n");
        assert!(done.stderr.starts_with('/') && done.stderr.lines().count() == 1, "{}", done.stderr);
        assert_eq!(sh("kill -9 $$", LIMITS).unwrap().signal, Some(9));
    }

    #[test]
    fn no_limit_is_crossed_for_long() {
        let start = Instant::now();
        let short = Limits { time: Duration::from_millis(300), ..LIMITS };
        let late = Err(ProcessError::Time(short.time));
        assert_eq!(sh("sleep 60", short), late);
        assert_eq!(sh("sleep 60 & wait", short), late);
        assert_eq!(sh("exec >&- 2>&-; sleep 60", short), late);
        let brief = Limits { processor: Duration::from_millis(300), ..LIMITS };
        let busy = Err(ProcessError::Processor(brief.processor));
        assert_eq!(sh("while :; do :; done", brief), busy);
        assert_eq!(sh("exec >&- 2>&-; while :; do :; done", brief), busy);
        assert_eq!(sh("while :; do echo y; done", LIMITS), Err(ProcessError::Output(1000)));
        assert_eq!(sh("while :; do echo y >&2; done", LIMITS), Err(ProcessError::Output(1000)));
        let lean = Limits { memory: 32 << 20, ..LIMITS };
        assert_eq!(sh("x=x; while :; do x=$x$x; done", lean), Err(ProcessError::Memory(32 << 20)));
        assert_eq!(sh("setsid sleep 12 & exit 0", LIMITS), Err(ProcessError::Left));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn to_wait_is_not_to_work() {
        let brief = Limits { processor: Duration::from_millis(300), ..LIMITS };
        assert_eq!(sh("sleep 1; echo done", brief).unwrap().stdout, b"done\n");
    }

    #[test]
    fn nothing_is_left_running() {
        let folder = tempfile::tempdir().unwrap();
        let sign = folder.path().join("sign");
        let script = format!("(sleep 1; touch {}) >&- 2>&- & exit 0", sign.display());
        assert_eq!(sh(&script, LIMITS).unwrap().code, Some(0));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!sign.exists());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let call = Call {
            program: Path::new("/nowhere/helm"),
            arguments: &[],
            environment: &[],
            folder: Path::new("/"),
            limits: LIMITS,
        };
        assert!(run(&call).unwrap_err().to_string().starts_with("/nowhere/helm cannot be started"));
        assert_eq!(find(Path::new("/etc/passwd")), Err(NotFound::NotExecutable));
        assert_eq!(find(Path::new("/etc/none")), Err(NotFound::Missing));
        assert!(find(Path::new("sh")).is_ok_and(|path| path.is_absolute()));
        assert_eq!(find(Path::new("no-such-program-anywhere")), Err(NotFound::Missing));
    }

    #[test]
    fn a_relative_folder_of_the_path_chooses_no_program() {
        let found = |folders: &str| find_in(Path::new("sh"), OsStr::new(folders));
        assert_eq!(found("/nowhere:/bin"), Some("/bin/sh".into()));
        // The same folder, as it is named from here.
        let here = env::current_dir().unwrap();
        let up = "../".repeat(here.components().count());
        assert!(Path::new(&format!("{up}bin/sh")).exists());
        assert_eq!(found(&format!("{up}bin")), None);
        assert_eq!(found(""), None);
    }
}
