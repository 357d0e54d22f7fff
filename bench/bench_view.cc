// links: berth_view
// How long the status picture takes: a large server, sixty-four devices with a thousand processes,
// half of them under leases. The promise is 20 ms in a release: it is drawn once a second.

#include <benchmark/benchmark.h>

#include "snapshot/builder.h"
#include "view/status.h"

namespace berth {
namespace {

using namespace literals;

Snapshot crowded_server() {
  SnapshotBuilder builder;
  for (int i = 0; i < 64; ++i) {
    builder.gpu("GPU-" + std::to_string(10'000'000 + i) + "-d702-6a10-c12f-20bd9faed9f6", 80_GiB);
    builder.used(60_GiB).utilization(50_percent);
    const pid_t keeper = 1000 + 100 * i;
    if (i % 2 == 0) builder.claim("alice", 40_GiB, keeper);
    for (int j = 1; j <= 16 && 16 * i + j <= 1000; ++j) {
      builder.process(keeper + j, "carol", 3_GiB);
    }
  }
  Snapshot snapshot = builder.build();
  for (HostProcess& process : snapshot.processes) {
    const pid_t keeper = process.id.pid / 100 * 100;
    process.ancestors = {keeper + 90, keeper + 91, keeper + 92, keeper, 1};
  }
  return snapshot;
}

void draw_status(benchmark::State& state) {
  const Snapshot host = crowded_server();
  const Style style{.width = static_cast<int>(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(render_status(host, style));
  state.counters["limit"] = 20;  // milliseconds
}
BENCHMARK(draw_status)->Arg(80)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
