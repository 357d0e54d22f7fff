// A directory service (LDAP, NIS) that does not answer: looking up a user's name hangs for ever.
// With BERTH_FAKE_UNKILLABLE set, SIGKILL sent through a pidfd does nothing either. So it is with a
// process that is stuck in the kernel. BERTH_FAKE_ASKED names a file that is made when the first
// name is asked for.
#include <dlfcn.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int getpwuid_r(uid_t uid, struct passwd* entry, char* buffer, size_t size, struct passwd** found) {
  (void)uid, (void)entry, (void)buffer, (void)size, (void)found;
  const char* asked = getenv("BERTH_FAKE_ASKED");
  if (asked != NULL) close(open(asked, O_WRONLY | O_CREAT, 0600));
  for (;;) pause();
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  const int kills = number == SYS_pidfd_send_signal && a[1] == SIGKILL;
  if (kills && getenv("BERTH_FAKE_UNKILLABLE") != NULL) return 0;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int kill(pid_t pid, int signal) {
  if (signal == SIGKILL && getenv("BERTH_FAKE_UNKILLABLE") != NULL) return 0;
  return (int)syscall(SYS_kill, pid, signal);
}
