// Counts what a process changes on the disk below some folders, and can end it just before any of these steps.
//
// Loaded into the program with LD_PRELOAD; the program knows nothing of it. STEPS_BELOW names the folders, with colons
// between; STEPS_LOG a file that gets one line for each step; STEPS_END the number of the step that is never made.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *folders;
static int out = -1;
static long end;
static atomic_long made;

__attribute__((constructor)) static void prepare(void) {
  const char *log = getenv("STEPS_LOG"), *last = getenv("STEPS_END");
  folders = getenv("STEPS_BELOW");
  end = last ? atol(last) : 0;
  if (log) out = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int counts(const char *path) {
  for (const char *at = folders; at && *at;) {
    size_t length = strcspn(at, ":");
    if (strncmp(path, at, length) == 0 && (path[length] == '/' || path[length] == 0)) return 1;
    at += length + (at[length] == ':');
  }
  return 0;
}

static void step(const char *what, const char *path) {
  if (!counts(path)) return;
  long number = atomic_fetch_add(&made, 1) + 1;
  if (out >= 0) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, what, path);
    syscall(SYS_write, out, line, length);
  }
  if (number == end) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
  }
}

static void named(const char *what, int folder, const char *path) {
  char whole[2 * PATH_MAX], link[64];
  if (path[0] == '/') return step(what, path);
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = readlink(link, whole, PATH_MAX);
  if (length < 0) return;
  snprintf(whole + length, sizeof whole - length, "/%s", path);
  step(what, whole);
}

static void opened(const char *what, int file) {
  char link[64], path[PATH_MAX + 1];
  struct stat about;
  if (file == out || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return;
  path[length] = 0;
  step(what, path);
}

#define TRUE_ONE(name) \
  static __typeof__(name) *true_one; \
  if (!true_one) true_one = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define MAKES(flags) ((flags) & (O_CREAT | O_TRUNC) || ((flags) & O_TMPFILE) == O_TMPFILE)

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    TRUE_ONE(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = MAKES(flags) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (MAKES(flags)) named("open", AT_FDCWD, path); \
    return true_one(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    TRUE_ONE(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = MAKES(flags) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (MAKES(flags)) named("open", folder, path); \
    return true_one(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to) {
  TRUE_ONE(rename);
  named("rename", AT_FDCWD, to);
  return true_one(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  TRUE_ONE(renameat);
  named("rename", to_folder, to);
  return true_one(from_folder, from, to_folder, to);
}

int link(const char *from, const char *to) {
  TRUE_ONE(link);
  named("link", AT_FDCWD, to);
  return true_one(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  TRUE_ONE(linkat);
  named("link", to_folder, to);
  return true_one(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
  TRUE_ONE(unlink);
  named("unlink", AT_FDCWD, path);
  return true_one(path);
}

int unlinkat(int folder, const char *path, int flags) {
  TRUE_ONE(unlinkat);
  named("unlink", folder, path);
  return true_one(folder, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  TRUE_ONE(mkdir);
  named("mkdir", AT_FDCWD, path);
  return true_one(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
  TRUE_ONE(mkdirat);
  named("mkdir", folder, path);
  return true_one(folder, path, mode);
}

int rmdir(const char *path) {
  TRUE_ONE(rmdir);
  named("rmdir", AT_FDCWD, path);
  return true_one(path);
}

ssize_t write(int file, const void *bytes, size_t count) {
  TRUE_ONE(write);
  opened("write", file);
  return true_one(file, bytes, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  TRUE_ONE(writev);
  opened("write", file);
  return true_one(file, parts, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  TRUE_ONE(pwrite64);
  opened("write", file);
  return true_one(file, bytes, count, at);
}

int ftruncate64(int file, off64_t length) {
  TRUE_ONE(ftruncate64);
  opened("truncate", file);
  return true_one(file, length);
}
