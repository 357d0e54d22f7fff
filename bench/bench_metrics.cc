// links: berth_serve
// What a scrape costs: eight GPUs of which every field that can be read was read, a full window,
// sixteen processes, four leases. The promise is 100 µs of CPU per page. And whether memory stays
// flat over a million pages.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/fd.h"
#include "serve/api.h"
#include "serve/metrics.h"
#include "serve/outgoing.h"
#include "smi/dump.h"
#include "snapshot/builder.h"

namespace berth::serve {
namespace {

using namespace literals;

/// A value of the field's own type, of the size that such readings have on a card that is well.
void fill(const Field& field, Device& device, std::uint64_t seed) {
  const std::uint64_t number = field.unit == Unit::count ? 0 : 60 + seed % 40;
  if (field.write(device, Scalar(number)) || field.write(device, Scalar(false))) return;
  field.write(device, Scalar(std::string(field.key == "compute_capability" ? "9.0" : "None")));
}

Snapshot server() {
  SnapshotBuilder builder;
  for (int i = 0; i < 8; ++i) {
    const std::string id = fmt::format("GPU-{}-d702-6a10-c12f-20bd9faed9f6", 10000000 + i);
    const pid_t keeper = 1000 + 100 * i;
    builder.gpu(id, 80_GiB).with([&](Device& device) {
      std::uint64_t seed = 7;
      for (const Field& field : fields()) {
        if (field.write != nullptr && field.key != "mig_mode") fill(field, device, ++seed);
      }
      device.id = DeviceId(id);
      device.details.set(Detail::recovery_action, Reading<std::string>(std::string("None")));
      device.details.set(Detail::fabric_state, Reading<std::string>(std::string("Completed")));
      device.process_count = std::uint64_t{2};
      device.pcie_generation = device.pcie_generation_max = std::uint64_t{5};
      device.pcie_width = device.pcie_width_max = std::uint64_t{16};
      device.name = std::string("NVIDIA H100 80GB HBM3");
      device.uuid = id;
      device.pci_address = fmt::format("00000000:{}:00.0", 10 + i);
      device.power_draw = Milliwatts{651'234};
      device.memory_total = 80_GiB;
      device.memory_used = 61_GiB;
      device.energy = Millijoules{1'234'567'891'234};
    });
    if (i % 2 == 0) builder.claim("alice", std::nullopt, keeper);
    builder.process(keeper + 1, "alice", 30_GiB).process(keeper + 2, "bob", 31_GiB);
  }
  Snapshot snapshot = builder.build();
  for (HostProcess& process : snapshot.processes) {
    process.ancestors = {process.id.pid / 100 * 100, 1};
  }
  snapshot.sources = {{"nvml", true}, {"pci", true}, {"procfs", true}};
  snapshot.xids = std::vector<XidEvent>{};
  return snapshot;
}

/// The same people on eight real H100s, of which `nvidia-smi -q -x` was kept: fewer readings than
/// there are. Nothing: no such capture is at hand (BERTH_CAPTURES names the folder).
std::optional<Snapshot> real_server() {
  const char* folder = std::getenv("BERTH_CAPTURES");
  const std::string path = std::string(folder == nullptr ? "../shared/captures" : folder);
  const auto text = read_file(path + "/qx-h100.xml");
  if (!text) return std::nullopt;
  auto dump = smi::snapshot_from_dump(*text, "");
  if (!dump || dump->devices.size() != 8) return std::nullopt;
  Snapshot snapshot = server();
  for (std::size_t i = 0; i < 8; ++i) {
    dump->devices[i].id = snapshot.devices[i].id;
    snapshot.devices[i] = std::move(dump->devices[i]);
  }
  return snapshot;
}

/// A server, and all that a daemon would hold beside it.
struct Served {
  Snapshot snapshot;
  WindowKeeper window;
  std::vector<XidCount> xids = {{"00000000:10:00.0", 31, 4, WallTime{1'760'000'000'000}}};
  explicit Served(Snapshot looked_at = server()) : snapshot(std::move(looked_at)) {
    for (int i = 0; i < 60; ++i) window.add(snapshot, Instant(std::chrono::seconds(i)));
  }
  [[nodiscard]] Scrape scrape() const {
    return {.snapshot = snapshot,
            .age = std::chrono::milliseconds(300),
            .interval = std::chrono::seconds(1),
            .look_duration = std::chrono::microseconds(12'345),
            .window = &window.statistics(),
            .xids = xids,
            .version = "0.1.0"};
  }
};

void pages_of(const Served& served, benchmark::State& state,
              const std::vector<MetricsProfile>& profiles, MetricsFormat format) {
  const MetricsOptions options{.profiles = profiles};
  std::size_t size = 0;
  for (auto _ : state) {
    const std::string text = metrics_page(served.scrape(), options, format);
    size = text.size();
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["bytes"] = static_cast<double>(size);
  state.counters["limit"] = 100;  // microseconds
  state.counters["of_cpu"] = 1;
}

void page(benchmark::State& state, const std::vector<MetricsProfile>& profiles,
          MetricsFormat format) {
  pages_of(Served(), state, profiles, format);
}

void page_of_8xh100(benchmark::State& state, const std::vector<MetricsProfile>& profiles) {
  auto real = real_server();
  if (!real) return state.SkipWithError("no capture qx-h100.xml: set BERTH_CAPTURES");
  pages_of(Served(std::move(*real)), state, profiles, MetricsFormat::text_0_0_4);
}

/// What is written anew for a second scrape of the same look.
void page_again(benchmark::State& state) {
  const Served served;
  const MetricsOptions options{.profiles = {MetricsProfile::berth}};
  constexpr auto format = MetricsFormat::text_0_0_4;
  std::string page = metrics_of_look(served.scrape(), options, format);
  const std::size_t of_look = page.size();
  for (auto _ : state) {
    page.resize(of_look);
    page = with_metrics_of_now(std::move(page), served.scrape(), options, format);
    benchmark::DoNotOptimize(page.data());
  }
  state.counters["limit"] = 100;  // microseconds
  state.counters["of_cpu"] = 1;
}
BENCHMARK(page_again)->Unit(benchmark::kMicrosecond);

/// What a scrape that takes gzip costs a worker besides.
void page_compressed(benchmark::State& state) {
  const Served served;
  const MetricsOptions options{.profiles = {MetricsProfile::berth}};
  const std::string page = metrics_page(served.scrape(), options, MetricsFormat::text_0_0_4);
  std::size_t size = 0;
  for (auto _ : state) {
    const std::string packed = gzipped(page);
    size = packed.size();
    benchmark::DoNotOptimize(packed.data());
  }
  state.counters["bytes"] = static_cast<double>(size);
  state.counters["of_cpu"] = 1;
}
BENCHMARK(page_compressed)->Unit(benchmark::kMicrosecond);

/// What one view of one look costs, however many ask for it.
void overview(benchmark::State& state) {
  RequestContext world;
  world.snapshot = std::make_shared<const Snapshot>(server());
  world.now = world.snapshot->taken;
  std::size_t size = 0;
  for (auto _ : state) {
    const std::string text = overview_json({.user = "root", .admin = true}, world);
    size = text.size();
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["bytes"] = static_cast<double>(size);
  state.counters["of_cpu"] = 1;
}
BENCHMARK(overview)->Unit(benchmark::kMicrosecond);

using enum MetricsProfile;
BENCHMARK_CAPTURE(page, berth, {berth}, MetricsFormat::text_0_0_4)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(page, berth_openmetrics, {berth}, MetricsFormat::openmetrics_1_0)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(page, dcgm, {dcgm}, MetricsFormat::text_0_0_4)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(page, nvidia_smi, {nvidia_smi}, MetricsFormat::text_0_0_4)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(page_of_8xh100, berth, {berth})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(page_of_8xh100, nvidia_smi, {nvidia_smi})->Unit(benchmark::kMicrosecond);

void window_look(benchmark::State& state) {
  Served served;
  int second = 60;
  for (auto _ : state) {
    served.window.add(served.snapshot, Instant(std::chrono::seconds(second++)));
  }
}
BENCHMARK(window_look)->Unit(benchmark::kMicrosecond);

double resident_kib() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * 4;
}

/// A page again and again. What it grew by is read after the first thousand, when
/// every buffer has had its size.
void million_pages(benchmark::State& state) {
  const Served served;
  const MetricsOptions options{.profiles = {berth}};
  const auto one = [&] {
    benchmark::DoNotOptimize(
        metrics_page(served.scrape(), options, MetricsFormat::openmetrics_1_0).size());
  };
  for (int i = 0; i < 1000; ++i) one();
  const double before = resident_kib();
  for (auto _ : state) one();
  state.counters["of_cpu"] = 1;
  state.counters["resident_before_KiB"] = before;
  state.counters["resident_after_KiB"] = resident_kib();
  if (resident_kib() > before + 256) state.SkipWithError("memory grew");
}
BENCHMARK(million_pages)->Iterations(1'000'000)->Repetitions(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::serve
