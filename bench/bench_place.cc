// links: berth_place
// How long choosing takes: sixteen devices, a server in use. The promise is 100 µs in a release.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "base/clock.h"
#include "place/placement.h"
#include "place/queue_lab.h"
#include "snapshot/builder.h"
#include "snapshot/details.h"

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
  state.counters["limit"] = 100;  // microseconds
}
BENCHMARK(choose_whole)->Unit(benchmark::kMicrosecond);

void choose_share(benchmark::State& state) {
  const Snapshot host = busy_server();
  const Request request{.memory = MemoryShare(10_GiB), .only = {{"*Test*"}}};
  for (auto _ : state) benchmark::DoNotOptimize(place(host, request));
  state.counters["limit"] = 100;  // microseconds
}
BENCHMARK(choose_share)->Unit(benchmark::kMicrosecond);

/// Sixteen free cards on two sockets, below four switches each, all linked through six NVSwitches.
Snapshot linked_server() {
  SnapshotBuilder builder;
  for (int i = 0; i < 16; ++i) {
    const std::string socket = std::to_string(i / 8);
    const std::string port = std::to_string(i / 2);
    builder.gpu("GPU-" + std::to_string(i), 80_GiB).with([&](Device& device) {
      const std::string address = fmt::format("00000000:{:02x}:00.0", 0x30 + i);
      device.pci_address = address;
      device.numa_node = static_cast<std::uint64_t>(i / 8);
      device.details.set(Detail::pci_path,
                         Reading<std::string>("pci000" + socket + ":00/0000:00:0" + port +
                                              ".0/0000:1" + port + ":00.0/" + address));
      std::vector<NvLink> links;
      for (std::uint32_t link = 0; link < 18; ++link) {
        links.push_back({link, true, {}, fmt::format("00000000:c{}:00.0", link / 3)});
      }
      device.lists.nvlinks = std::move(links);
    });
  }
  return builder.build();
}

void choose_linked(benchmark::State& state) {
  const Snapshot host = linked_server();
  const Request request{.devices = 8};
  for (auto _ : state) benchmark::DoNotOptimize(place(host, request));
  state.counters["limit"] = 100;  // microseconds
}
BENCHMARK(choose_linked)->Unit(benchmark::kMicrosecond);

/// What went wrong in it. nullptr: no device had two jobs, no user more than allowed. All started
/// within that many days, and a user's equal jobs in the order in which they came.
const char* fault_in(const QueueLab& lab, const Policy& policy, std::int64_t most_days) {
  if (!lab.faults.empty()) return lab.faults.front().c_str();
  if (lab.waiting() > 0) return "somebody never starts";
  std::map<std::tuple<uid_t, int, Priority>, std::int64_t> last;
  for (const LabJob& job : lab.jobs()) {
    if (*job.started_ms - job.arrives_ms > most_days * day_ms) return "somebody starves";
    if (job.limit_ms) continue;  // may go ahead of others by it
    auto& before = last[{job.uid, job.devices, policy.counted(job.asked, job.uid)}];
    if (*job.started_ms < before) return "who came later started first";
    before = *job.started_ms;
  }
  return nullptr;
}

/// A year of a lab with 64 GPUs, some 42,000 jobs.
void year_of(benchmark::State& state, const Policy& policy) {
  constexpr std::int64_t year_ms = 365 * day_ms;
  std::size_t jobs = 0;
  for (auto _ : state) {
    QueueLab lab(64, policy, lab_jobs(64, year_ms, 0.8, 3));
    lab.run(2 * year_ms);
    jobs = lab.jobs().size();
    if (const char* fault = fault_in(lab, policy, 7)) state.SkipWithError(fault);
  }
  state.counters["jobs"] = static_cast<double>(jobs);
  state.counters["limit"] = 10'000;  // milliseconds
}

void year_of_a_lab(benchmark::State& state) { year_of(state, {}); }
BENCHMARK(year_of_a_lab)->Unit(benchmark::kMillisecond)->Iterations(1);

/// The same under rules: a fair share, priorities, and so many devices at once for each user.
void year_of_a_lab_under_rules(benchmark::State& state) {
  Policy policy;
  policy.fair_share = std::chrono::hours(48);
  policy.hours_used.emplace();
  policy.rules = {
      {.rules = {.devices_at_most = 16}},
      {.who = PolicyRule::For::user,
       .name = "1001",
       .rules = {.highest_priority = Priority::high, .devices_at_most = 32}},
  };
  year_of(state, policy);
}
BENCHMARK(year_of_a_lab_under_rules)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace berth
