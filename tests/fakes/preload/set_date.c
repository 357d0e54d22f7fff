// A machine whose date is set while programs run on it. The file that BERTH_FAKE_DATE names holds
// one line for each change. It says when (nanoseconds since 1970 by the real clock). It also says
// by how many seconds all dates from then on differ from the real one. The steady clock is left
// alone. A file's times are those of the date when they were made.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int (*real_clock_gettime)(clockid_t, struct timespec*);

__attribute__((constructor)) static void find_real(void) {
  real_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
}

static void shift(struct timespec* time) {
  const char* path = getenv("BERTH_FAKE_DATE");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return;
  text[got] = '\0';
  const long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
  long long by = 0;
  for (char* line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    long long from = 0;
    long long seconds = 0;
    if (sscanf(line, "%lld %lld", &from, &seconds) == 2 && from <= now) by = seconds;
  }
  time->tv_sec += by;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (real_clock_gettime == NULL) find_real();
  const int result = real_clock_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) shift(time);
  return result;
}

static int shifted(int result, struct stat* facts) {
  if (result != 0) return result;
  shift(&facts->st_mtim);
  shift(&facts->st_ctim);
  return result;
}

int fstat(int fd, struct stat* facts) {
  int (*real)(int, struct stat*) = (int (*)(int, struct stat*))dlsym(RTLD_NEXT, "fstat");
  return shifted(real(fd, facts), facts);
}

int stat(const char* path, struct stat* facts) {
  int (*real)(const char*, struct stat*) =
      (int (*)(const char*, struct stat*))dlsym(RTLD_NEXT, "stat");
  return shifted(real(path, facts), facts);
}

int fstatat(int directory, const char* path, struct stat* facts, int flags) {
  int (*real)(int, const char*, struct stat*, int) =
      (int (*)(int, const char*, struct stat*, int))dlsym(RTLD_NEXT, "fstatat");
  return shifted(real(directory, path, facts, flags), facts);
}
