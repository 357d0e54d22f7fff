// links: berth_place
// Choosing among 16 devices, some of them taken: at most 100 µs.

#include <benchmark/benchmark.h>

#include <string>

#include "place/placement.h"
#include "snapshot/builder.h"

namespace {

using namespace berth::literals;

berth::Snapshot sixteen_devices() {
  berth::SnapshotBuilder builder;
  for (int i = 0; i < 16; ++i) {
    builder.gpu("GPU-" + std::to_string(i), 80_GiB);
    if (i % 4 == 0) builder.used(40_GiB).process(1000 + i, "ada", 40_GiB);
    if (i % 4 == 1) builder.claim("lin");
  }
  return builder.build();
}

void choosing_two_among_16_devices(benchmark::State& state) {
  const berth::Snapshot host = sixteen_devices();
  berth::Request request;
  request.devices = 2;
  for (auto _ : state) benchmark::DoNotOptimize(berth::place(host, request));
  state.counters["limit"] = 100'000;  // nanoseconds
}
BENCHMARK(choosing_two_among_16_devices);

}  // namespace
