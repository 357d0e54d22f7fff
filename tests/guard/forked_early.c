/* A program whose thread forks at the worst moment: another is just beginning to be charged. The
 * shim's madvise() is that moment; the child asks for memory there. Ends with 0 where the child had
 * an answer, whichever. */

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { wipe_on_fork = 18 };
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(void**, int),
    cuMemGetInfo_v2(size_t*, size_t*);
static int child_answered;

int madvise(void* at, size_t bytes, int advice) {
  static int has_forked;
  if (advice == wipe_on_fork && !has_forked) {
    has_forked = 1;
    const pid_t child = fork();
    if (child == 0) {
      size_t free, total;
      void* context;
      alarm(60); /* it would wait for ever */
      (void)cuDevicePrimaryCtxRetain(&context, 0);
      (void)cuMemGetInfo_v2(&free, &total);
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    child_answered = WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  return (int)syscall(SYS_madvise, at, bytes, advice);
}

int main(void) {
  void* context;
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0) return 2;
  return child_answered ? 0 : 1;
}
