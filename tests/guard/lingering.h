/* Compiled into a shim of the tests. A thread lingers before and after each step of an account that
 * others may meet. So they do meet. */

#define _GNU_SOURCE
#include <time.h>

static inline void linger(void) {
  const struct timespec pause = {.tv_nsec = 20000};
  nanosleep(&pause, NULL);
}

#define __atomic_fetch_add(at, value, order)                            \
  __extension__({                                                       \
    linger();                                                           \
    const __typeof__(*(at)) was = __atomic_fetch_add(at, value, order); \
    linger();                                                           \
    was;                                                                \
  })
