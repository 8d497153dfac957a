// Gives a process a clock that goes as ever while it works, and leaps ahead whenever it does nothing but sleep.
//
// Loaded into the program with LD_PRELOAD. CLOCK_FILE is shared with the test and has three numbers of nanoseconds; CLOCK_SLEEPERS
// says how many threads sleep when there is nothing to do. A leap ends at the first of their alarms, so that everything
// happens in the order in which it would. Threads of an asynchronous runtime are no part of it: where one waits for an
// answer, somebody else does not sleep.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
// How long nothing has to happen before a leap, and how often is looked.
#define STILL 300000LL
#define SLICE 1000000LL
#define THREADS 64

#define TRUE_ONE(name) \
  static __typeof__(name) *true_one; \
  if (!true_one) true_one = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

// How far the clocks are ahead of the machine's, how far the time of day is beside that, and the time of day that no leap goes past.
static struct { _Atomic int64_t ahead, beside, limit; } *shared;
static int wanted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t alarms[THREADS], changed;
static int asleep;

__attribute__((constructor)) static void prepare(void) {
  const char *path = getenv("CLOCK_FILE"), *sleepers = getenv("CLOCK_SLEEPERS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *place = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place != MAP_FAILED) shared = place;
  wanted = sleepers ? atoi(sleepers) : THREADS;
  close(file);
}

static int64_t number(struct timespec time) { return time.tv_sec * SECOND + time.tv_nsec; }

static struct timespec moment(int64_t number) {
  return (struct timespec){.tv_sec = number / SECOND, .tv_nsec = number % SECOND};
}

static int64_t machine(clockid_t clock) {
  TRUE_ONE(clock_gettime);
  struct timespec now = {0};
  true_one(clock, &now);
  return number(now);
}

static int64_t shift(clockid_t clock) {
  if (!shared) return 0;
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return shared->ahead + shared->beside;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME: return shared->ahead;
    default: return 0;
  }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  TRUE_ONE(clock_gettime);
  int failed = true_one(clock, now);
  if (!failed) *now = moment(number(*now) + shift(clock));
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  int64_t time = machine(CLOCK_REALTIME) + shift(CLOCK_REALTIME);
  *now = (struct timeval){.tv_sec = time / SECOND, .tv_usec = time % SECOND / 1000};
  return 0;
}

time_t time(time_t *place) {
  time_t now = (machine(CLOCK_REALTIME) + shift(CLOCK_REALTIME)) / SECOND;
  if (place) *place = now;
  return now;
}

// Notes that this thread sleeps until an alarm, which is by the monotonic clock; -1 where it does not count.
static int lie_down(int64_t alarm) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (!shared || strncmp(name, "tokio", 5) == 0) return -1;
  pthread_mutex_lock(&lock);
  int bed = -1;
  for (int i = 0; i < THREADS && bed < 0; i++) if (!alarms[i]) bed = i;
  if (bed >= 0) {
    alarms[bed] = alarm;
    asleep++;
    changed = machine(CLOCK_MONOTONIC);
  }
  pthread_mutex_unlock(&lock);
  return bed;
}

static void get_up(int bed) {
  if (bed < 0) return;
  pthread_mutex_lock(&lock);
  alarms[bed] = 0;
  asleep--;
  changed = machine(CLOCK_MONOTONIC);
  pthread_mutex_unlock(&lock);
}

static void leap(void) {
  if (!shared || pthread_mutex_trylock(&lock)) return;
  int64_t now = machine(CLOCK_MONOTONIC);
  if (asleep >= wanted && now - changed > STILL) {
    int64_t by = shared->limit - machine(CLOCK_REALTIME) - shift(CLOCK_REALTIME);
    for (int i = 0; i < THREADS; i++) {
      int64_t left = alarms[i] - now - shared->ahead;
      if (alarms[i] && left < by) by = left;
    }
    if (by > 0) {
      shared->ahead += by;
      changed = now;
    }
  }
  pthread_mutex_unlock(&lock);
}

static struct timespec slice(clockid_t clock, int64_t end) {
  int64_t left = end - machine(clock) - shift(clock);
  return moment(left < SLICE ? (left > 0 ? left : 0) : SLICE);
}

// Waits on a futex until an absolute time, as Rust's condition variables and parked threads do.
static long wait_until(long word, long operation, long value, const struct timespec *end, long mask) {
  TRUE_ONE(syscall);
  clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  int64_t alarm = number(*end);
  int bed = lie_down(alarm - shift(clock) + shift(CLOCK_MONOTONIC));
  long result;
  for (;;) {
    struct timespec part = moment(machine(clock) + number(slice(clock, alarm)));
    result = true_one(SYS_futex, word, operation, value, &part, NULL, mask);
    if (result == 0 || errno != ETIMEDOUT || machine(clock) + shift(clock) >= alarm) break;
    leap();
  }
  int reason = errno;
  get_up(bed);
  errno = reason;
  return result;
}

long syscall(long number, ...) {
  TRUE_ONE(syscall);
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int i = 0; i < 6; i++) words[i] = va_arg(rest, long);
  va_end(rest);
  int waits = number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && words[3];
  if (shared && waits) return wait_until(words[0], words[1], words[2], (const struct timespec *)words[3], words[5]);
  return true_one(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest) {
  TRUE_ONE(clock_nanosleep);
  if (!shared) return true_one(clock, flags, time, rest);
  int64_t alarm = number(*time) + (flags & TIMER_ABSTIME ? 0 : machine(clock) + shift(clock));
  int bed = lie_down(alarm - shift(clock) + shift(CLOCK_MONOTONIC)), failed = 0;
  while (!failed && machine(clock) + shift(clock) < alarm) {
    struct timespec part = slice(clock, alarm);
    failed = true_one(clock, 0, &part, NULL);
    leap();
  }
  get_up(bed);
  if (failed && rest) *rest = moment(alarm - machine(clock) - shift(clock));
  return failed;
}

int nanosleep(const struct timespec *time, struct timespec *rest) {
  int failed = clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
  if (failed) errno = failed;
  return failed ? -1 : 0;
}
