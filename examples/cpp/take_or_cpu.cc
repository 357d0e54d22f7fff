// Takes one GPU for this process, or computes on the CPU where none is free.
//
// Nobody else who asks berth gets the GPU meanwhile. It is given back when `lease` ends, and by the
// kernel if this process is killed.

#include <berth/berth.hpp>
#include <cstdio>
#include <cstdlib>

int main() {
  auto berth = berth::Berth::open();
  berth::Request request;
  request.memory = "10G";  // of one GPU, which others may share; left out: a whole GPU, alone
  request.name = "take_or_cpu";
  auto lease = berth ? berth->acquire(request) : berth.error();
  if (!lease) {
    // For people. What refused each device has acquire()'s second argument, the answer.
    std::fprintf(stderr, "%s\n", lease.error().message().c_str());
    std::printf("computing on the CPU\n");
    return 0;
  }

  // Sets CUDA_VISIBLE_DEVICES. It must come before CUDA starts: berth refuses when it is too late.
  if (const auto applied = lease->apply(); !applied) {
    std::fprintf(stderr, "%s\n", applied.error().message().c_str());
    return 1;
  }
  const berth::Device device = lease->devices().front();
  std::printf("computing on %s, which is cuda:0 here (CUDA_VISIBLE_DEVICES=%s)\n",
              device.name.c_str(), std::getenv("CUDA_VISIBLE_DEVICES"));
  return 0;
}
