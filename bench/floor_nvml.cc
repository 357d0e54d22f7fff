// The least that any program which asks NVML has to do: load the library, initialise it, shut it
// down. `berth status` is held against this.
//
//   floor_nvml LIBRARY

#include <dlfcn.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return 1;
  auto* init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  auto* shutdown = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
  if (init == nullptr || shutdown == nullptr || init() != 0) return 1;
  return shutdown();
}
