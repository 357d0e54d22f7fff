// links: berth_record
// The history store: how much disk a reading takes, and what a look costs to keep (eight GPUs, 64
// processes). How long the charts of a month take to draw. A month is generated once, in a
// temporary directory that goes at the end.

#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/temporary_directory.h"
#include "record/history/example_load.h"
#include "record/history/reader.h"
#include "record/history/store.h"
#include "snapshot/builder.h"

namespace berth::history {
namespace {

using namespace literals;

constexpr WallTime first{1'760'000'400'000 / 3'600'000 * 3'600'000};
constexpr std::int64_t day_seconds = 86'400;

HistoryStore opened(const std::string& path, Clock& clock) {
  auto store = HistoryStore::open(path, {}, clock);
  BERTH_CHECK(store.has_value(), "a new history opens");
  return *std::move(store);
}

/// Disk of the whole file, indices and roll-ups included, by the readings of six hours.
void bytes_per_reading(benchmark::State& state) {
  FakeClock clock;
  const TemporaryDirectory directory;
  const std::string path = directory / "history.sqlite";
  constexpr std::int64_t seconds = 6 * 3600;
  for (auto _ : state) {
    HistoryStore store = opened(path, clock);
    ExampleLoad load;
    for (std::int64_t second = 0; second <= seconds; ++second) {
      BERTH_CHECK(store.append(load.look(first, second)).has_value(), "the disk takes it");
    }
  }
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  state.counters["measured"] =
      bytes / static_cast<double>(seconds * std::int64_t{ExampleLoad::readings_per_look});
  state.counters["limit"] = 2;
  state.SetLabel("bytes");
}
BENCHMARK(bytes_per_reading)->Iterations(1)->Unit(benchmark::kSecond);

/// Sealing blocks every ten minutes is in it, spread over their samples.
void append_look(benchmark::State& state) {
  FakeClock clock;
  const TemporaryDirectory directory;
  HistoryStore store = opened(directory / "history.sqlite", clock);
  ExampleLoad load;
  std::int64_t second = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Snapshot& look = load.look(first, second++);
    state.ResumeTiming();
    BERTH_CHECK(store.append(look).has_value(), "the disk takes it");
  }
}
BENCHMARK(append_look)->Iterations(3600)->Unit(benchmark::kMicrosecond);

/// A month of eight GPUs and 64 processes, with the readings' noise, at a look every nine seconds.
/// A month's chart is drawn from roll-ups: there are as many as at one look a second.
class Month {
 public:
  Month() {
    FakeClock clock;
    HistoryStore store = opened(path(), clock);
    ExampleLoad load;
    for (std::int64_t second = 0; second < 31 * day_seconds; second += 9) {
      BERTH_CHECK(store.append(load.look(first, second)).has_value(), "the disk takes it");
    }
  }
  [[nodiscard]] std::string path() const { return directory_ / "history.sqlite"; }

 private:
  TemporaryDirectory directory_;
};

const std::string& month_path() {
  static const Month month;
  static const std::string path = month.path();
  return path;
}

/// As a browser asks: opened, one metric of a month at so many points.
void chart_of_a_month(benchmark::State& state) {
  const std::string& path = month_path();
  std::size_t points = 0;
  for (auto _ : state) {
    auto reader = HistoryReader::open(path);
    BERTH_CHECK(reader.has_value(), "the month can be read");
    const auto series =
        reader->series({.devices = {DeviceId("GPU-7d4a3f00-d702-6a10-c12f-20bd9faed9f6")},
                        .metric = "power_draw_milliwatts",
                        .since = first,
                        .until = {first.unix_ms + 31 * day_seconds * 1000},
                        .points = static_cast<std::size_t>(state.range(0))});
    BERTH_CHECK(series.has_value() && series->front().points.size() > 500, "a month has points");
    points += series->front().points.size();
  }
  benchmark::DoNotOptimize(points);
  state.counters["limit"] = 50;  // milliseconds
}
// From hours, and from minutes.
BENCHMARK(chart_of_a_month)->Arg(744)->Arg(5000)->Unit(benchmark::kMillisecond);

/// The last hour, second by second, from the samples.
void chart_of_an_hour(benchmark::State& state) {
  FakeClock clock;
  const TemporaryDirectory directory;
  const std::string path = directory / "history.sqlite";
  {
    HistoryStore store = opened(path, clock);
    ExampleLoad load;
    for (std::int64_t second = 0; second < 3900; ++second) {
      BERTH_CHECK(store.append(load.look(first, second)).has_value(), "the disk takes it");
    }
  }
  for (auto _ : state) {
    auto reader = HistoryReader::open(path);
    BERTH_CHECK(reader.has_value(), "the hour can be read");
    benchmark::DoNotOptimize(
        reader->series({.devices = {DeviceId("GPU-7d4a3f00-d702-6a10-c12f-20bd9faed9f6")},
                        .metric = "power_draw_milliwatts",
                        .since = {first.unix_ms + 300'000},
                        .until = {first.unix_ms + 3'900'000},
                        .points = 3600}));
  }
  state.counters["limit"] = 50;  // milliseconds
}
BENCHMARK(chart_of_an_hour)->Unit(benchmark::kMillisecond);

/// What a page asks when it is opened, at the worst moment: ten minutes that are not yet in blocks.
void chart_of_64_devices(benchmark::State& state) {
  FakeClock clock;
  const TemporaryDirectory directory;
  const std::string path = directory / "history.sqlite";
  std::vector<DeviceId> devices;
  {
    HistoryStore store = opened(path, clock);
    std::mt19937_64 random(1);
    SnapshotBuilder builder;
    for (int i = 0; i < 64; ++i) {
      devices.emplace_back("GPU-" + std::to_string(i));
      builder.gpu(devices.back().text(), 80_GiB);
    }
    Snapshot look = builder.build();
    for (std::int64_t second = 0; second < 599; ++second) {
      look.taken = {first.unix_ms + second * 1000};
      for (Device& device : look.devices) {
        device.utilization_gpu = Percent(static_cast<double>(random() % 101));
        device.power_draw = Milliwatts(600'000 + random() % 100'000);
        device.memory_used = Bytes((random() % 40'000) << 20);
        device.temperature = Celsius(60 + static_cast<std::int64_t>(random() % 8));
      }
      BERTH_CHECK(store.append(look).has_value(), "the disk takes it");
    }
  }
  for (auto _ : state) {
    auto reader = HistoryReader::open(path);
    BERTH_CHECK(reader.has_value(), "the minutes can be read");
    const auto found = reader->series({.devices = devices,
                                       .metric = "power_draw_milliwatts",
                                       .since = first,
                                       .until = {first.unix_ms + 600'000},
                                       .points = 180});
    BERTH_CHECK(found.has_value() && found->size() == 64 && found->back().points.size() > 100,
                "each device has its points");
  }
  state.counters["of_cpu"] = 1;
  state.counters["limit"] = 50;  // milliseconds
}
BENCHMARK(chart_of_64_devices)->Unit(benchmark::kMillisecond);

void usage_of_a_month(benchmark::State& state) {
  const std::string& path = month_path();
  for (auto _ : state) {
    auto reader = HistoryReader::open(path);
    BERTH_CHECK(reader.has_value(), "the month can be read");
    benchmark::DoNotOptimize(reader->usage(
        {.by = UsageBy::day, .since = first, .until = {first.unix_ms + 31 * day_seconds * 1000}}));
  }
  state.counters["limit"] = 50;  // milliseconds
}
BENCHMARK(usage_of_a_month)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::history
