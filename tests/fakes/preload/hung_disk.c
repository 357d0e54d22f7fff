// A disk that takes nothing more: while the file that BERTH_FAKE_HUNG_WHILE names is there, whoever
// writes or syncs a file below the directory BERTH_FAKE_HUNG_DISK waits. Reading goes on, as from
// the kernel's cache.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void wait_for_disk(int fd) {
  const char* hangs = getenv("BERTH_FAKE_HUNG_WHILE");
  const struct timespec a_while = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
  if (hangs == NULL || access(hangs, F_OK) != 0 || !is_there(fd)) return;
  while (access(hangs, F_OK) == 0) nanosleep(&a_while, NULL);
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
