// Pairs of allocate and free by the CUDA driver's API, for bench_guard.py: with the shim before the
// driver, and without.
//
//   floor_guard THREADS PAIRS    once its standard input ends, each thread allocates and frees 4
//   KiB so
//                                often; prints the processor time of a pair in nanoseconds

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Address = unsigned long long;
using Ask = int(const char*, void**, int, unsigned long long, int*);

template <class Function>
Function* driver(const char* name) {
  static const auto ask =
      reinterpret_cast<Ask*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2"));
  void* found = nullptr;
  int how = 0;
  if (ask == nullptr || ask(name, &found, 12040, 0, &how) != 0 || found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

double processor_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = std::atoi(argv[1]);
  const long pairs = std::atol(argv[2]);
  void* context = nullptr;
  const auto set_current = driver<int(void*)>("cuCtxSetCurrent");
  const auto allocate = driver<int(Address*, std::size_t)>("cuMemAlloc");
  const auto release = driver<int(Address)>("cuMemFree");
  if (driver<int(unsigned)>("cuInit")(0) != 0 ||
      driver<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0) != 0) {
    return 3;
  }
  const auto work = [&](long count) {
    set_current(context);
    for (long i = 0; i < count; ++i) {
      Address address = 0;
      if (allocate(&address, 4096) != 0 || release(address) != 0) std::abort();
    }
  };
  work(1000);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  const double before = processor_nanoseconds();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(work, pairs);
  for (std::thread& one : running) one.join();
  std::printf("%f\n", (processor_nanoseconds() - before) / static_cast<double>(pairs * threads));
}
