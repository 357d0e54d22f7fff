// How long choosing takes: sixteen devices, a server in use. The promise is 100 µs in a release.

#include <benchmark/benchmark.h>

#include "place/placement.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

/// Sixteen cards: four leased whole, four shared, four with strangers, four free; three processes
/// on each card in use.
Snapshot busy_server() {
  SnapshotBuilder builder;
  for (int i = 0; i < 16; ++i) {
    builder.gpu("GPU-0000000" + std::to_string(i) + "-d702-6a10-c12f-20bd9faed9f6", 80_GiB);
    const pid_t pid = 1000 + 10 * i;
    if (i % 4 == 0) builder.claim("alice", std::nullopt, pid);
    if (i % 4 == 1) builder.claim("bob", 20_GiB, pid);
    if (i % 4 == 3) continue;
    builder.used(30_GiB);
    for (int j = 0; j < 3; ++j) builder.process(pid + j, "carol", 10_GiB);
  }
  return builder.build();
}

void choose_whole(benchmark::State& state) {
  const Snapshot host = busy_server();
  const Request request{.devices = 4};
  for (auto _ : state) benchmark::DoNotOptimize(place(host, request));
}
BENCHMARK(choose_whole)->Unit(benchmark::kMicrosecond);

void choose_share(benchmark::State& state) {
  const Snapshot host = busy_server();
  const Request request{.memory = MemoryShare(10_GiB), .only = {{"*Test*"}}};
  for (auto _ : state) benchmark::DoNotOptimize(place(host, request));
}
BENCHMARK(choose_share)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth

BENCHMARK_MAIN();
