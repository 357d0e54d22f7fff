// A disk that takes nothing more while the file that BERTH_FAKE_HUNG_WHILE names is there. A
// program that writes or syncs a file below the directory BERTH_FAKE_HUNG_DISK waits. Reading goes
// on, as from the kernel's cache. Below BERTH_FAKE_HUNG_HOME nothing can be opened or looked at
// meanwhile, as if a file server had gone.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is_there(int fd) {
  const char* directory = getenv("BERTH_FAKE_HUNG_DISK");
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (directory == NULL || length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, directory, strlen(directory)) == 0;
}

static void wait_while_it_hangs(void) {
  const char* hangs = getenv("BERTH_FAKE_HUNG_WHILE");
  const struct timespec a_while = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
  while (hangs != NULL && access(hangs, F_OK) == 0) nanosleep(&a_while, NULL);
}

static void wait_for_disk(int fd) {
  const char* hangs = getenv("BERTH_FAKE_HUNG_WHILE");
  if (hangs == NULL || access(hangs, F_OK) != 0 || !is_there(fd)) return;
  wait_while_it_hangs();
}

static void wait_for_home(const char* path) {
  const char* home = getenv("BERTH_FAKE_HUNG_HOME");
  if (home != NULL && path != NULL && strncmp(path, home, strlen(home)) == 0) wait_while_it_hangs();
}

#define HANGS(type, name, parameters, arguments)                          \
  type name parameters {                                                  \
    static type(*real) parameters;                                        \
    if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    wait_for_disk(fd);                                                    \
    return real arguments;                                                \
  }

HANGS(ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size))
HANGS(ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t at), (fd, bytes, size, at))
HANGS(ssize_t, pwrite64, (int fd, const void* bytes, size_t size, off64_t at),
      (fd, bytes, size, at))
HANGS(int, fsync, (int fd), (fd))
HANGS(int, fdatasync, (int fd), (fd))
HANGS(int, ftruncate, (int fd, off_t size), (fd, size))
HANGS(int, ftruncate64, (int fd, off64_t size), (fd, size))

#define OPENS(name)                                                        \
  int name(const char* path, int flags, ...) {                             \
    static int (*real)(const char*, int, ...);                             \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name);            \
    va_list more;                                                          \
    va_start(more, flags);                                                 \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                          \
    wait_for_home(path);                                                   \
    return real(path, flags, mode);                                        \
  }

OPENS(open)
OPENS(open64)

DIR* opendir(const char* path) {
  static DIR* (*real)(const char*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "opendir");
  wait_for_home(path);
  return real(path);
}

int lstat(const char* path, struct stat* facts) {
  static int (*real)(const char*, struct stat*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "lstat");
  wait_for_home(path);
  return real(path, facts);
}
