/* Says how many exit handlers the library registers while it is used: this call is found before
 * libc's. At its start libstdc++ has some within it, which do nothing. */
#include <berth/berth.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int handlers = 0;

/* What C++ calls for each object that is taken down at the end of the process. */
int __cxa_atexit(void (*handler)(void*), void* argument, void* library);
int __cxa_atexit(void (*handler)(void*), void* argument, void* library) {
  (void)handler;
  (void)argument;
  Dl_info of;
  if (dladdr(library, &of) != 0 && strstr(of.dli_fname, "libberth") != NULL) ++handlers;
  return 0;
}

int main(void) {
  handlers = 0;
  berth_context* context = NULL;
  berth_look* look = NULL;
  berth_lease* lease = NULL;
  berth_device device = BERTH_INIT(berth_device);
  if (berth_open(NULL, &context, NULL) != BERTH_OK ||
      berth_look_now(context, BERTH_EVERYTHING, &look, NULL) != BERTH_OK ||
      berth_look_device(look, 0, &device) != BERTH_OK ||
      berth_acquire(context, NULL, &lease, NULL, NULL) != BERTH_OK) {
    return 2;
  }
  berth_look_free(look);
  if (berth_lease_free(lease, NULL) != BERTH_OK) return 2;
  berth_close(context);
  printf("%d\n", handlers);
  return 0;
}
