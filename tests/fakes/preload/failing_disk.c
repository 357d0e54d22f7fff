// A disk that fails while the file that BERTH_FAKE_FAILING_WHILE names is there. Acts below the
// directory BERTH_FAKE_FAILING_DISK then fail as that file says. "quota": nothing can be made or
// written (EDQUOT); what is there can be read and removed. "writes": no change of any kind (EIO).
// "reads": no file's bytes and no list of names (EIO).
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { making, removing, reading };

// The error that it fails with; 0: none.
static int failure(enum kind kind) {
  const int before = errno;
  const char* path = getenv("BERTH_FAKE_FAILING_WHILE");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  char said[16] = "";
  if (fd >= 0) {
    if (read(fd, said, sizeof said - 1) < 0) said[0] = '\0';
    close(fd);
  }
  errno = before;
  if (strncmp(said, "quota", 5) == 0) return kind == making ? EDQUOT : 0;
  if (strncmp(said, "writes", 6) == 0) return kind == reading ? 0 : EIO;
  return strncmp(said, "reads", 5) == 0 && kind == reading ? EIO : 0;
}

static int is_there(int fd) {
  const char* directory = getenv("BERTH_FAKE_FAILING_DISK");
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (directory == NULL || length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, directory, strlen(directory)) == 0;
}

static int fails(int fd, enum kind kind) {
  const int before = errno;
  const int error = is_there(fd) ? failure(kind) : 0;
  errno = error != 0 ? error : before;
  return error != 0;
}

#define FAILS(kind, type, name, parameters, arguments)                    \
  type name parameters {                                                  \
    static type(*real) parameters;                                        \
    if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    return fails(fd, kind) ? -1 : real arguments;                         \
  }

FAILS(making, ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size))
FAILS(making, ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t at),
      (fd, bytes, size, at))
FAILS(making, int, renameat, (int fd, const char* from, int to_fd, const char* to),
      (fd, from, to_fd, to))
FAILS(removing, int, unlinkat, (int fd, const char* name, int flags), (fd, name, flags))
FAILS(removing, int, ftruncate, (int fd, off_t size), (fd, size))
FAILS(removing, int, fchmod, (int fd, mode_t mode), (fd, mode))
FAILS(reading, ssize_t, pread, (int fd, void* bytes, size_t size, off_t at), (fd, bytes, size, at))

int openat(int fd, const char* name, int flags, ...) {
  static int (*real)(int, const char*, int, ...);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "openat");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return (flags & O_CREAT) != 0 && fails(fd, making) ? -1 : real(fd, name, flags, mode);
}

struct dirent* readdir(DIR* stream) {
  static struct dirent* (*real)(DIR*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "readdir");
  return fails(dirfd(stream), reading) ? NULL : real(stream);
}
