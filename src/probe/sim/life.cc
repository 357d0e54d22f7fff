#include "probe/sim/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "probe/sim/load.h"
#include "probe/sim/motion.h"
#include "snapshot/kernel_messages.h"

namespace berth::sim {

namespace {

constexpr std::int64_t steps_in_period = life_period_ms / life_step_ms;
/// How much of its time one that goes idle works.
constexpr double worked_share = 0.4;
/// One that waits for data computes for so long of every so long.
constexpr double fed_s = 4;
constexpr double hunger_s = 12;
constexpr uid_t first_uid = 1001;
constexpr std::int64_t kept_in_log_ms = 7LL * 24 * 3600 * 1000;

struct Habit {
  LifeKind kind;
  int of_hundred;
  std::string_view command;
};
constexpr auto habits = std::to_array<Habit>({
    {LifeKind::trains, 52, "python train.py --config llama-7b.yaml"},
    {LifeKind::waits_for_data, 14, "python finetune.py --workers 1"},
    {LifeKind::goes_idle, 14, "jupyter notebook"},
    {LifeKind::runs_hot, 8, "python sweep.py --batch-size 512"},
    {LifeKind::faults, 5, "python kernels_test.py"},
    {LifeKind::runs_out, 7, "python serve.py --max-batch 256"},
});

const Habit& habit_of(LifeKind kind) { return *std::ranges::find(habits, kind, &Habit::kind); }

/// Numbers in [0, 1), one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  double next() { return (noise_at(seed_, 77, step_++) + 1) / 2; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() * static_cast<double>(limit));
  }

 private:
  std::uint64_t seed_;
  std::int64_t step_ = 0;
};

LifeKind a_kind(Dice& dice) {
  std::int64_t rest = dice.below(100);
  for (const Habit& habit : habits) {
    rest -= habit.of_hundred;
    if (rest < 0) return habit.kind;
  }
  return LifeKind::trains;
}

/// Steps for which nobody wants it: few by day, a night's worth now and then.
std::int64_t a_pause(Dice& dice) {
  const double which = dice.next();
  if (which < 0.4) return 0;
  return which < 0.85 ? 1 + dice.below(8) : 12 + dice.below(28);
}

double seconds_of(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

/// Seconds of full work, the first `elapsed` of its life.
double work_of(const LifeJob& job, double elapsed) {
  const double length = seconds_of(job.to_ms - job.from_ms);
  const double lived = std::clamp(elapsed, 0.0, length);
  if (job.kind == LifeKind::goes_idle) return std::min(lived, worked_share * length);
  return job.kind == LifeKind::waits_for_data ? lived * fed_s / hunger_s : lived;
}

double percent_at(const Life& life, const LifeJob& job, double elapsed) {
  const double length = seconds_of(job.to_ms - job.from_ms);
  if (elapsed < 0 || (job.kind == LifeKind::goes_idle && elapsed > worked_share * length)) return 0;
  if (job.kind == LifeKind::waits_for_data && std::fmod(elapsed, hunger_s) >= fed_s) return 1;
  const double wobble = noise_at(life.seed, job.number, static_cast<std::int64_t>(elapsed));
  return std::clamp(94 + 5 * wobble, 0.0, 100.0);
}

/// Where in the rota a time is, and when that turn of it began.
struct RotaTime {
  std::int64_t turn = 0;  // how often it has been through
  std::int64_t at_ms = 0;
};
RotaTime rota_time_of(WallTime time) {
  const std::int64_t turn = time.unix_ms / life_period_ms;
  return {turn, time.unix_ms - turn * life_period_ms};
}

/// Seconds of full work that a device has seen since 1970.
double work_until(const Life& life, std::size_t device, WallTime time) {
  const RotaTime now = rota_time_of(time);
  double whole = 0;
  double part = 0;
  for (const LifeJob& job : life.jobs) {
    if (std::ranges::find(job.devices, device) == job.devices.end()) continue;
    whole += work_of(job, seconds_of(life_period_ms));
    part += work_of(job, seconds_of(now.at_ms - job.from_ms));
  }
  return static_cast<double>(now.turn) * whole + part;
}

constexpr double pcie_sent_per_second = 410e6;
constexpr double pcie_received_per_second = 1250e6;

void put_counters(Device& device, double work, double added_milliwatts) {
  const auto grow = [&](auto& counter, double per_second) {
    using Unit = std::decay_t<decltype(*counter.get())>;
    if (!counter.get()) return;
    counter = *counter.get() + Unit(static_cast<typename Unit::rep>(work * per_second));
  };
  grow(device.pcie_sent, pcie_sent_per_second);
  grow(device.pcie_received, pcie_received_per_second);
  grow(device.energy, added_milliwatts);
}

void put_rates(Device& device, double share, bool has_neighbours) {
  const auto rate = [&](Detail detail, double per_second) {
    if (!device.details.get<BytesPerSecond>(detail).get()) return;
    device.details.set(detail, Reading<BytesPerSecond>(
                                   BytesPerSecond(static_cast<std::uint64_t>(share * per_second))));
  };
  rate(Detail::pcie_sent_rate, pcie_sent_per_second);
  rate(Detail::pcie_received_rate, pcie_received_per_second);
  const double links = has_neighbours ? 24e9 : 0;
  rate(Detail::nvlink_sent_rate, links);
  rate(Detail::nvlink_received_rate, links);
}

void slow_down(Device& device) {
  constexpr std::uint64_t software_thermal = 0x20;
  if (device.throttle_reasons.get()) device.throttle_reasons = ClockReasons(software_thermal);
  if (const auto limit = device.temperature_slowdown.get(); limit && device.temperature.get()) {
    device.temperature = Celsius(limit->count() - 1);
  }
  for (auto* clock : {&device.clock_sm, &device.clock_graphics}) {
    if (clock->get()) *clock = Megahertz(clock->get()->count() * 7 / 10);
  }
}

Bytes memory_of(const LifeJob& job, const Device& device, double elapsed) {
  const Bytes all = device.memory_free.get().value_or(Bytes{0});
  const double length = seconds_of(job.to_ms - job.from_ms);
  const double share = job.kind == LifeKind::runs_out
                           ? 0.3 + 0.69 * elapsed / length
                           : 0.45 + 0.05 * static_cast<double>(job.number % 10);
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(all.count()) * share));
}

ProcessId number_of(const LifeJob& job, std::int64_t turn) {
  constexpr pid_t first = 30'000;
  return {.pid = first + static_cast<pid_t>(job.number),
          .start_ticks = static_cast<std::uint64_t>(turn) * 100'000 + job.number};
}

Claim claim_of(const Snapshot& snapshot, const Life& life, const LifeJob& job, std::int64_t turn) {
  Claim claim{.id = fmt::format("sim-{}-{}", turn, job.number),
              .uid = first_uid + static_cast<uid_t>(job.person),
              .user = life.people[job.person],
              .keeper = number_of(job, turn),
              .job = number_of(job, turn),
              .command = std::string(habit_of(job.kind).command),
              .since = WallTime{turn * life_period_ms + job.from_ms}};
  for (const std::size_t at : job.devices) {
    claim.devices.push_back({.device = snapshot.devices[at].id});
  }
  return claim;
}

void put_job(Snapshot& snapshot, const Life& life, const LifeJob& job, const RotaTime& now) {
  const Claim claim = claim_of(snapshot, life, job, now.turn);
  const double elapsed = seconds_of(now.at_ms - job.from_ms);
  for (const std::size_t at : job.devices) {
    Device& device = snapshot.devices[at];
    if (device.lost || !device.unusable_because.empty()) continue;
    const Bytes memory = memory_of(job, device, elapsed);
    take_memory(device, memory);
    put_under_load(device, [&](double ago) { return percent_at(life, job, elapsed - ago); });
    if (job.kind == LifeKind::runs_hot) slow_down(device);
    put_rates(device, percent_at(life, job, elapsed) / 100, job.devices.size() > 1);
    GpuProcess process{.device = device.id, .pid = claim.job->pid, .memory = memory};
    process.utilization_sm = device.utilization_gpu;
    snapshot.gpu_processes.push_back(std::move(process));
  }
  snapshot.processes.push_back(process_of(claim, work_of(job, elapsed)));
  snapshot.claims.push_back(claim);
}

void put_waiter(Snapshot& snapshot, const Life& life, const LifeJob& job, const RotaTime& now) {
  const Claim later = claim_of(snapshot, life, job, now.turn);
  snapshot.waiters.push_back(
      {.id = later.id,
       .uid = later.uid,
       .user = later.user,
       .process = *later.keeper,
       .command = later.command,
       .wants = job.devices.size() > 1 ? fmt::format("-n {}", job.devices.size()) : "",
       .since = WallTime{later.since.unix_ms - job.waited_ms}});
}

/// What a kernel's log still has.
void put_fault(Snapshot& snapshot, const Life& life, const LifeJob& job, std::int64_t turn) {
  const WallTime at{turn * life_period_ms + job.to_ms};
  if (at > snapshot.taken || at.unix_ms < snapshot.taken.unix_ms - kept_in_log_ms) return;
  const Claim claim = claim_of(snapshot, life, job, turn);
  const Device& device = snapshot.devices[job.devices.front()];
  XidEvent xid{.pci_address = device.pci_address.get().value_or(""), .code = 31, .at = at};
  xid.pid = static_cast<std::uint64_t>(claim.job->pid);
  xid.process = std::string("python");
  xid.text =
      "MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f3a_40000000. Fault is of type "
      "FAULT_PDE ACCESS_TYPE_VIRT_READ";
  auto xids = snapshot.xids.get().value_or(std::vector<XidEvent>());
  xids.push_back(std::move(xid));
  snapshot.xids = std::move(xids);
}

}  // namespace

Life life_of(std::uint64_t seed, std::size_t devices, std::vector<std::string> people) {
  Life life{.seed = seed, .people = std::move(people)};
  Dice dice(seed);
  std::vector<std::int64_t> free_from(devices);
  for (std::int64_t& step : free_from) step = dice.below(16);
  while (!free_from.empty()) {
    const auto soonest = std::ranges::min_element(free_from);
    if (*soonest >= steps_in_period - 1) break;
    const auto device = static_cast<std::size_t>(soonest - free_from.begin());
    LifeJob job{.devices = {device}, .kind = a_kind(dice), .number = life.jobs.size()};
    const std::size_t neighbour = device ^ 1U;
    if (dice.next() < 0.3 && neighbour < devices) job.devices.push_back(neighbour);
    const std::int64_t pause = a_pause(dice);
    std::int64_t from = 0;
    for (const std::size_t one : job.devices) from = std::max(from, free_from[one]);
    from += pause;
    if (from >= steps_in_period - 1) {
      free_from[device] = steps_in_period;  // the next turn begins without anybody
      continue;
    }
    const std::int64_t to = std::min(from + 2 + dice.below(34), steps_in_period);
    job.from_ms = from * life_step_ms;
    job.to_ms = to * life_step_ms;
    // A job that gets devices the moment that they are free has waited for them.
    const std::int64_t waited = pause == 0 ? std::min(from, 1 + dice.below(6)) : 0;
    job.waited_ms = waited * life_step_ms;
    job.person =
        static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(life.people.size())));
    for (const std::size_t one : job.devices) free_from[one] = to;
    life.jobs.push_back(std::move(job));
  }
  std::ranges::sort(life.jobs, {}, &LifeJob::from_ms);
  return life;
}

std::vector<PastJob> past_jobs(const Life& life, WallTime after, WallTime until) {
  std::vector<PastJob> jobs;
  for (std::int64_t turn = rota_time_of(after).turn; turn <= rota_time_of(until).turn; ++turn) {
    const std::int64_t begin = turn * life_period_ms;
    for (const LifeJob& job : life.jobs) {
      const WallTime ended{begin + job.to_ms};
      if (ended <= after || ended > until) continue;
      jobs.push_back({.began = {begin + job.from_ms},
                      .ended = ended,
                      .waited_ms = job.waited_ms,
                      .devices = job.devices,
                      .kind = job.kind,
                      .uid = first_uid + static_cast<uid_t>(job.person),
                      .user = life.people[job.person],
                      .command = std::string(habit_of(job.kind).command),
                      .process = number_of(job, turn)});
    }
  }
  std::ranges::sort(jobs, {}, &PastJob::ended);
  return jobs;
}

void put_life(Snapshot& snapshot, const Life& life, const Snapshot& base) {
  if (life.jobs.empty()) return;
  const RotaTime now = rota_time_of(snapshot.taken);
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    // Not of the moment's power: a counter would go back with it.
    const auto& power = base.devices[i].power_draw.get();
    const double idle = static_cast<double>(power.value_or(Milliwatts{0}).count());
    const double work = work_until(life, i, snapshot.taken) - work_until(life, i, base.taken);
    put_counters(snapshot.devices[i], std::max(0.0, work),
                 most_power_milliwatts(base.devices[i], idle) - idle);
  }
  if (!snapshot.xids.get()) snapshot.xids = std::vector<XidEvent>();
  for (const LifeJob& job : life.jobs) {
    if (now.at_ms >= job.from_ms && now.at_ms < job.to_ms) put_job(snapshot, life, job, now);
    if (now.at_ms >= job.from_ms - job.waited_ms && now.at_ms < job.from_ms) {
      put_waiter(snapshot, life, job, now);
    }
    if (job.kind != LifeKind::faults) continue;
    for (const std::int64_t turn : {now.turn - 1, now.turn}) put_fault(snapshot, life, job, turn);
  }
  number_by_date(snapshot.xids);
}

}  // namespace berth::sim
