/*
 * Stands between a process and the files of one folder, as LD_PRELOAD. It keeps a journal of every change outside the
 * process, from which what a power cut could have left is rebuilt, and it makes the disk fail on demand.
 *
 * DISK_SHIM_FOLDER   the folder whose files are watched; shared-memory files (-shm) are not, they do not outlive a cut
 * DISK_SHIM_CONTROL  a file of 64-bit integers, mapped: see `enum` below; its writer is in command
 * DISK_SHIM_JOURNAL  where the journal is appended; none when absent
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Places in the control file. A fault with a first number hits from that call on, as often as its count says. */
enum {
  SYNCS_SEEN,      /* syncs of watched files so far, failed ones included */
  EIO_FIRST,       /* number of the first sync that fails with EIO; 0: none */
  EIO_COUNT,
  DISK_IS_FULL,    /* not 0: every write that would lengthen a file fails with this errno */
  WRITES_SEEN,
  ENOSPC_FIRST,    /* number of the first write that fails with ENOSPC; 0: none */
  ENOSPC_COUNT,
  SLOW_SYNC_MS,    /* added to every sync */
  JOURNAL_BYTES,   /* length of the journal: everything before it has happened */
  CELLS
};

/* How a record of the journal begins; path and data follow it. */
struct record {
  char kind;            /* Write, Truncate, Sync begun, Ended sync, Unlink, Rename (data: the new path) */
  uint8_t is_folder;
  uint16_t path_bytes;
  uint32_t data_bytes;
  int64_t offset;       /* of a write; length of a truncate; number of a sync */
} __attribute__((packed));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char folder[PATH_MAX];
static size_t folder_bytes;
static volatile int64_t *cells;
static int journal = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_remove)(const char *);
static int (*real_rename)(const char *, const char *);

static void set_up(void) {
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_unlinkat = dlsym(RTLD_NEXT, "unlinkat");
  real_remove = dlsym(RTLD_NEXT, "remove");
  real_rename = dlsym(RTLD_NEXT, "rename");
  const char *named = getenv("DISK_SHIM_FOLDER");
  const char *control = getenv("DISK_SHIM_CONTROL");
  const char *kept = getenv("DISK_SHIM_JOURNAL");
  if (named == NULL || control == NULL || realpath(named, folder) == NULL) return;
  int fd = open(control, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *map = mmap(NULL, CELLS * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return;
  if (kept != NULL) journal = open(kept, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  folder_bytes = strlen(folder);
  cells = map;
}

/* Whether a path is watched: the folder itself, or a file in it that outlives a power cut. */
static int is_watched(const char *path) {
  if (cells == NULL || strncmp(path, folder, folder_bytes) != 0) return 0;
  if (path[folder_bytes] == '\0') return 1;
  if (path[folder_bytes] != '/') return 0;
  size_t bytes = strlen(path);
  return bytes < 4 || strcmp(path + bytes - 4, "-shm") != 0;
}

/* The path of an open file, when it is watched. */
static int watched_path(int fd, char *path) {
  pthread_once(&once, set_up);
  if (cells == NULL || fd < 3) return 0;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t bytes = readlink(link, path, PATH_MAX - 1);
  if (bytes <= 0) return 0;
  path[bytes] = '\0';
  return is_watched(path);
}

/* An absolute path for a name, without following the last link. */
static int watched_name(const char *name, char *path) {
  pthread_once(&once, set_up);
  if (cells == NULL) return 0;
  if (name[0] == '/') {
    if (strlen(name) >= PATH_MAX) return 0;
    strcpy(path, name);
  } else {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL || strlen(here) + strlen(name) + 2 > PATH_MAX) return 0;
    stpcpy(stpcpy(stpcpy(path, here), "/"), name);
  }
  return is_watched(path);
}

/* Called with the lock held. */
static void note(char kind, int is_folder, const char *path, int64_t offset, const void *data, size_t data_bytes) {
  if (journal < 0) return;
  struct record head = {kind, (uint8_t)is_folder, (uint16_t)strlen(path), (uint32_t)data_bytes, offset};
  struct iovec parts[3] = {
      {&head, sizeof head}, {(void *)path, head.path_bytes}, {(void *)data, data_bytes}};
  ssize_t whole = (ssize_t)(sizeof head + head.path_bytes + data_bytes);
  if (syscall(SYS_writev, journal, parts, 3) != whole) abort(); /* a journal with a hole would prove nothing */
  cells[JOURNAL_BYTES] += whole;
}

static int hits(int count_cell, int first_cell, int number_cell) {
  int64_t now = ++cells[count_cell];
  int64_t first = cells[first_cell];
  return first > 0 && now >= first && now < first + cells[number_cell];
}

static int lengthens(int fd, off64_t end) {
  struct stat64 facts;
  return fstat64(fd, &facts) == 0 && end > facts.st_size;
}

static ssize_t watched_write(int fd, const char *path, const void *data, size_t bytes, off64_t offset) {
  ssize_t written;
  pthread_mutex_lock(&lock);
  int is_full = cells[DISK_IS_FULL] != 0 && lengthens(fd, offset + (off64_t)bytes);
  if (hits(WRITES_SEEN, ENOSPC_FIRST, ENOSPC_COUNT) || is_full) {
    errno = is_full ? (int)cells[DISK_IS_FULL] : ENOSPC;
    written = -1;
  } else {
    written = real_pwrite(fd, data, bytes, offset);
    int why = errno;
    if (written > 0) note('W', 0, path, offset, data, (size_t)written);
    errno = why;
  }
  pthread_mutex_unlock(&lock);
  return written;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  char path[PATH_MAX];
  if (!watched_path(fd, path)) return real_pwrite(fd, data, bytes, offset);
  return watched_write(fd, path, data, bytes, offset);
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) { return pwrite64(fd, data, bytes, offset); }

ssize_t write(int fd, const void *data, size_t bytes) {
  char path[PATH_MAX];
  if (!watched_path(fd, path)) return real_write(fd, data, bytes);
  off64_t at = (fcntl(fd, F_GETFL) & O_APPEND) ? lseek64(fd, 0, SEEK_END) : lseek64(fd, 0, SEEK_CUR);
  ssize_t written = watched_write(fd, path, data, bytes, at);
  if (written > 0) lseek64(fd, at + written, SEEK_SET);
  return written;
}

int ftruncate64(int fd, off64_t length) {
  char path[PATH_MAX];
  if (!watched_path(fd, path)) return real_ftruncate(fd, length);
  pthread_mutex_lock(&lock);
  int result;
  if (cells[DISK_IS_FULL] != 0 && lengthens(fd, length)) {
    errno = (int)cells[DISK_IS_FULL];
    result = -1;
  } else {
    result = real_ftruncate(fd, length);
    int why = errno;
    if (result == 0) note('T', 0, path, length, "", 0);
    errno = why;
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

/* What was written before the sync began is safe once it has ended; the lock is not held between, as others write on. */
static int watched_sync(int fd, const char *path, int (*sync)(int)) {
  struct stat64 facts;
  int is_folder = fstat64(fd, &facts) == 0 && S_ISDIR(facts.st_mode);
  pthread_mutex_lock(&lock);
  int fails = hits(SYNCS_SEEN, EIO_FIRST, EIO_COUNT);
  int64_t number = cells[SYNCS_SEEN];
  if (!fails) note('S', is_folder, path, number, "", 0);
  int64_t slow = cells[SLOW_SYNC_MS];
  pthread_mutex_unlock(&lock);
  if (slow > 0) {
    struct timespec time = {slow / 1000, (slow % 1000) * 1000000};
    nanosleep(&time, NULL);
  }
  if (fails) {
    errno = EIO;
    return -1;
  }
  /* The journal is the disk of the experiment; the real one need not be waited for while there is one. */
  int result = journal >= 0 ? 0 : sync(fd);
  if (result == 0) {
    pthread_mutex_lock(&lock);
    note('E', is_folder, path, number, "", 0);
    pthread_mutex_unlock(&lock);
  }
  return result;
}
int fsync(int fd) {
  char path[PATH_MAX];
  return watched_path(fd, path) ? watched_sync(fd, path, real_fsync) : real_fsync(fd);
}
int fdatasync(int fd) {
  char path[PATH_MAX];
  return watched_path(fd, path) ? watched_sync(fd, path, real_fdatasync) : real_fdatasync(fd);
}

static int noted_unlink(const char *path, int result) {
  int why = errno;
  if (result == 0) note('U', 0, path, 0, "", 0);
  pthread_mutex_unlock(&lock);
  errno = why;
  return result;
}
int unlink(const char *name) {
  char path[PATH_MAX];
  if (!watched_name(name, path)) return real_unlink(name);
  pthread_mutex_lock(&lock);
  return noted_unlink(path, real_unlink(name));
}
int remove(const char *name) {
  char path[PATH_MAX];
  if (!watched_name(name, path)) return real_remove(name);
  pthread_mutex_lock(&lock);
  return noted_unlink(path, real_remove(name));
}
int unlinkat(int at, const char *name, int flags) {
  char path[PATH_MAX];
  if ((at != AT_FDCWD && name[0] != '/') || !watched_name(name, path)) return real_unlinkat(at, name, flags);
  pthread_mutex_lock(&lock);
  return noted_unlink(path, real_unlinkat(at, name, flags));
}
int rename(const char *from, const char *to) {
  char old_path[PATH_MAX], new_path[PATH_MAX];
  int is_ours = watched_name(from, old_path);
  if (!watched_name(to, new_path) || !is_ours) return real_rename(from, to);
  pthread_mutex_lock(&lock);
  int result = real_rename(from, to);
  int why = errno;
  if (result == 0) note('R', 0, old_path, 0, new_path, strlen(new_path));
  pthread_mutex_unlock(&lock);
  errno = why;
  return result;
}
