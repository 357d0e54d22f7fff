/* Asks the driver: opens its library at the first call, finds functions by name, and answers
 * cuGetProcAddress. */

#include "guard/shim/guard.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "guard/image.h"

/* The oldest versions of the only names that newer glibc gives others: else programs that run on an
 * older one would not start. */
#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.17\n.symver dlsym, dlsym@GLIBC_2.17");
#endif

extern const struct berth_guard_image berth_guard_image __attribute__((visibility("hidden")));

/* No table of addresses: the loader would write each at the start of every program. */
static const struct names {
#define GUARD_ROOM(name, ...) char name[sizeof #name];
  GUARD_WRAPPERS(GUARD_ROOM) GUARD_CALLED(GUARD_ROOM)
} names = {
#define GUARD_NAME(name, ...) .name = #name,
    GUARD_WRAPPERS(GUARD_NAME) GUARD_CALLED(GUARD_NAME)};
static const uint16_t name_places[function_count] = {
#define GUARD_PLACE(name, ...) [number_of_##name] = offsetof(struct names, name),
    GUARD_WRAPPERS(GUARD_PLACE) GUARD_CALLED(GUARD_PLACE)};

static __attribute__((noinline)) void* wrapper(enum function number) {
  switch (number) {
#define GUARD_CASE(name, ...) \
  case number_of_##name:      \
    return (void*)name;
    GUARD_WRAPPERS(GUARD_CASE)
    default:
      return NULL;
  }
}

void* _Atomic driver_functions[function_count];
static void* _Atomic opened;

static const char usual_folders[] =
    "/.singularity.d/libs:/usr/local/nvidia/lib64:/usr/lib64:/usr/lib:/lib64:/lib"
#if defined(__x86_64__)
    ":/usr/lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
    ":/usr/lib/aarch64-linux-gnu"
#endif
    ":/usr/lib/wsl/lib:/run/opengl-driver/lib";

static int answer_no_device(void) { return no_device; }
static int answer_not_found(void) { return not_found; }

/* With a slash ld.so does not take us for it, whose SONAME is the same. NULL: there is none, or it
 * is this one. */
static void* open_driver(const char* path) {
  void* library = path[0] == '/' ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
  void* ours = wrapper(number_of_cuGetProcAddress);
  return library == NULL || dlsym(library, "cuGetProcAddress") == ours ? NULL : library;
}

/* In the first of these folders (as LD_LIBRARY_PATH has them) that has one. */
static void* open_driver_in(const char* folders) {
  static const char name[] = "/libcuda.so.1";
  char path[4096];
  for (const char* end; folders != NULL && *folders != '\0';
       folders = *end != '\0' ? end + 1 : end) {
    end = folders + strcspn(folders, ":;");
    const size_t length = (size_t)(end - folders);
    if (length > sizeof path - sizeof name) continue;
    memcpy(path, folders, length);
    memcpy(path + length, name, sizeof name);
    void* library = open_driver(path);
    if (library != NULL) return library;
  }
  return NULL;
}

static void* driver(void) {
  void* known = atomic_load(&opened);
  if (known != NULL) return known;
  const char* path = berth_guard_image.driver;
  if (path[0] == '\0') path = getenv("BERTH_GUARD_DRIVER");
  if (path == NULL) return NULL;
  known = open_driver(path);
  /* A container that the job entered has it elsewhere. */
  if (known == NULL) known = open_driver_in(getenv("LD_LIBRARY_PATH"));
  if (known == NULL) known = open_driver_in(usual_folders);
  atomic_store(&opened, known);
  return known;
}

/* Threads that look up the same at once find the same. */
static void* of_driver(const char* name) {
  void* library = driver();
  if (library == NULL) return (void*)answer_no_device;
  void* found = dlsym(library, name);
  return found != NULL ? found : (void*)answer_not_found;
}

void* look_up(enum function number) {
  void* found = of_driver((const char*)&names + name_places[number]);
  atomic_store(&driver_functions[number], found);
  return found;
}

/* Called by tramp.S with all arguments put aside; it keeps the answer. */
void* berth_guard_resolve(uint64_t trampoline) {
  if (trampoline >= berth_guard_image.name_count) return (void*)answer_not_found;
  const char* image = (const char*)&berth_guard_image;
  const int32_t* distances = (const int32_t*)(image + berth_guard_image.names_offset);
  return of_driver((const char*)distances + distances[trampoline]);
}

/* The driver decides which function a name, version and flags mean. Where it answers with one that
 * we wrap, ours takes its place. */
static void put_ours(void** function) {
  for (enum function number = 0; number < wrapper_count; ++number) {
    if (*function == driver_function(number)) {
      *function = wrapper(number);
      return;
    }
  }
}

int cuGetProcAddress(const char* name, void** function, int version, flags64 flags) {
  int result = DRIVER(cuGetProcAddress)(name, function, version, flags);
  if (result == success && function != NULL) put_ours(function);
  return result;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, flags64 flags,
                        int* status) {
  int result = DRIVER(cuGetProcAddress_v2)(name, function, version, flags, status);
  if (result == success && function != NULL) put_ours(function);
  return result;
}
