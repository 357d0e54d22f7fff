/* The least that elf_image.cc asks of the shim's template: the struct that it fills in, wrappers,
 * and trampolines. What it does with names can be tested on it alone. */

#include <dlfcn.h>
#include <stddef.h>

#include "guard/image.h"

#define EXPORT __attribute__((visibility("default")))

__asm__(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlsym, dlsym@GLIBC_2.2.5");

struct berth_guard_image berth_guard_image = {.magic = BERTH_GUARD_IMAGE_MAGIC};
static int zeros_at_first[5000]; /* .bss */

static void* of_driver(const char* name) {
  return dlsym(dlopen(berth_guard_image.driver, RTLD_LAZY | RTLD_LOCAL), name);
}

void* resolve_trampoline(uint64_t number) {
  const char* image = (const char*)&berth_guard_image;
  const int32_t* distances = (const int32_t*)(image + berth_guard_image.names_offset);
  return of_driver((const char*)distances + distances[number]);
}

/* One more than the driver says, so that who answers can be told. */
EXPORT int cuDriverGetVersion(int* version) {
  int result = ((int (*)(int*))of_driver("cuDriverGetVersion"))(version);
  *version += 1 + zeros_at_first[*version % 5000];
  return result;
}
EXPORT int cuOfNoDriver(void) { return 1; }

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl berth_guard_tramp_0\n"
    ".type berth_guard_tramp_0, @function\n"
    ".balign 32\n"
    "berth_guard_tramp_0:\n"
    "n = 0\n"
    ".rept 2048\n"
    ".balign 32\n"
    "push $n\n"
    "jmp to_driver\n"
    "n = n + 1\n"
    ".endr\n"
    "to_driver:\n"
    "xchg %rdi, (%rsp)\n" /* the number for the first argument, which is kept on the stack */
    "push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n sub $8, %rsp\n"
    "call resolve_trampoline\n"
    "add $8, %rsp\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"
    "jmp *%rax\n");
#endif
