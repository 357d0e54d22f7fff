#pragma once
// QueueLab: weeks of a machine's queue with a fake clock, by the functions that decide in earnest:
// order(), starts_now(), worth_gathering(), gather_phase(). For tests and benchmarks only.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "place/forecast.h"
#include "place/order.h"
#include "snapshot/builder.h"

namespace berth {

struct LabJob {
  uid_t uid = 1000;
  int devices = 1;
  std::int64_t arrives_ms = 0;
  std::int64_t lasts_ms = 0;
  std::optional<std::int64_t> limit_ms = {};  // not below lasts_ms
  Priority asked = Priority::normal;
  std::uint64_t gib = 0;  // a share of so much; 0: whole devices
  std::optional<std::int64_t> started_ms = {};
  std::vector<DeviceId> on = {};
};

class QueueLab {
  static constexpr std::uint64_t gib_of_a_device = 80;

 public:
  QueueLab(int devices, Policy policy, std::vector<LabJob> jobs)
      : policy_(std::move(policy)), jobs_(std::move(jobs)) {
    SnapshotBuilder builder;
    for (int i = 0; i < devices; ++i)
      builder.gpu("GPU-" + std::to_string(i), Bytes{gib_of_a_device << 30U});
    machine_ = builder.build();
    std::ranges::stable_sort(jobs_, {}, &LabJob::arrives_ms);
  }

  /// Plays until all that came has ended or `until_ms` is over. What goes wrong is in `faults`.
  void run(std::int64_t until_ms) {
    while (const auto next = next_event()) {
      if (*next > until_ms) return;
      now_ = *next;
      machine_.taken = WallTime{now_};
      end_jobs();
      while (next_job_ < jobs_.size() && jobs_[next_job_].arrives_ms <= now_) queue(next_job_++);
      start_jobs();
    }
  }

  [[nodiscard]] const std::vector<LabJob>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t waiting() const { return tickets_.size(); }
  [[nodiscard]] int most_on_a_device() const { return most_on_a_device_; }
  std::vector<std::string> faults;
  bool is_gathering = true;  // false: to show what happens without

 private:
  void queue(std::size_t job) {
    const LabJob& one = jobs_[job];
    tickets_.push_back({.uid = one.uid,
                        .asked = one.asked,
                        .place = one.arrives_ms * 1'000'000 + static_cast<std::int64_t>(job),
                        .arrived = one.arrives_ms * 1'000'000,
                        .name = std::to_string(job)});
  }

  [[nodiscard]] std::optional<std::int64_t> next_event() const {
    std::optional<std::int64_t> next = phase_ends_;
    const auto soonest = [&](std::int64_t at) { next = std::min(next.value_or(at), at); };
    if (next_job_ < jobs_.size()) soonest(jobs_[next_job_].arrives_ms);
    // Quiet hours begin and end at whole hours here.
    constexpr std::int64_t hour_ms = 3'600'000;
    const auto is_quiet_hours = [](const PolicyRule& one) {
      return one.rules.quiet_hours.has_value();
    };
    const bool waits_for_them =
        !tickets_.empty() && std::ranges::any_of(policy_.rules, is_quiet_hours);
    if (waits_for_them) soonest((now_ / hour_ms + 1) * hour_ms);
    for (const std::size_t job : running_) soonest(*jobs_[job].started_ms + jobs_[job].lasts_ms);
    return next;
  }

  void end_jobs() {
    std::erase_if(running_, [this](std::size_t job) {
      const LabJob& one = jobs_[job];
      if (*one.started_ms + one.lasts_ms > now_) return false;
      std::erase_if(machine_.claims,
                    [&](const Claim& claim) { return claim.id == std::to_string(job); });
      for (const DeviceId& id : one.on) busy_[id].erase(job);
      held_[one.uid] -= one.devices;
      return true;
    });
  }

  void start_jobs() {
    stand_in_order();
    gather();
    for (auto starts = starts_now(machine_, &policy_); !starts.empty();
         starts = starts_now(machine_, &policy_)) {
      for (const Start& start : starts) begin(start);
      stand_in_order();
      gather();
    }
  }

  void stand_in_order() {
    machine_.waiters.clear();
    for (const QueueTurn& turn : order(tickets_, policy_)) {
      const LabJob& one = jobs_[job_of(tickets_[turn.ticket].name)];
      Waiter waiter;
      waiter.id = tickets_[turn.ticket].name;
      waiter.uid = one.uid;
      waiter.priority = turn.counted;
      waiter.request = request_of(one);
      if (one.limit_ms) waiter.time_limit = std::chrono::milliseconds(*one.limit_ms);
      machine_.waiters.push_back(std::move(waiter));
    }
  }

  /// As the head does for itself (run/acquire.cc).
  void gather() {
    phase_ends_.reset();
    if (!is_gathering) return;
    for (Waiter& waiter : machine_.waiters) {
      const Request request = request_from_json(waiter.request).value();
      const Placement placement = place(machine_, request, {.policy = &policy_, .uid = waiter.uid});
      if (is_held_by_policy(placement)) continue;
      if (head_ != waiter.id) head_since_ = now_;
      head_ = waiter.id;
      if (placement.satisfied()) return;
      waiter.gathered = worth_gathering(placement, request, machine_);
      if (gathered_at(waiter, machine_)) return;
      const auto phase = gather_phase(std::chrono::milliseconds(now_ - head_since_));
      phase_ends_ = head_since_ + phase.until.count();
      if (!phase.gathers) waiter.gathered.clear();
      return;
    }
  }

  void begin(const Start& start) {
    const std::string& name = machine_.waiters[start.waiter].id;
    const std::size_t job = job_of(name);
    LabJob& one = jobs_[job];
    one.started_ms = now_;
    Claim claim;
    claim.id = name;
    claim.uid = one.uid;
    claim.devices = start.devices;
    if (one.limit_ms) claim.ends = WallTime{now_ + *one.limit_ms};
    for (const ClaimedDevice& part : start.devices) {
      one.on.push_back(part.device);
      auto& here = busy_[part.device];
      here.insert(job);
      most_on_a_device_ = std::max(most_on_a_device_, static_cast<int>(here.size()));
      const auto is_whole = [&](std::size_t other) { return jobs_[other].gib == 0; };
      if (here.size() > 1 && std::ranges::any_of(here, is_whole)) {
        fault(job, "has a device that another has");
      }
      std::uint64_t promised = 0;
      for (const std::size_t other : here) promised += jobs_[other].gib;
      if (promised > gib_of_a_device) fault(job, "has a share that is not there");
    }
    if (start.devices.size() != static_cast<std::size_t>(one.devices)) {
      fault(job, "has another number of devices than it wants");
    }
    held_[one.uid] += one.devices;
    if (policy_.hours_used) {
      (*policy_.hours_used)[one.uid] += static_cast<double>(one.devices * one.lasts_ms) / 3.6e6;
    }
    const auto most = policy_.of(one.uid).devices_at_most;
    if (most && held_[one.uid] > *most) fault(job, "is beyond what its user may have at once");
    machine_.claims.push_back(std::move(claim));
    running_.push_back(job);
    std::erase_if(tickets_, [&](const TicketFacts& ticket) { return ticket.name == name; });
  }

  static std::size_t job_of(const std::string& name) { return std::stoull(name); }
  const std::string& request_of(const LabJob& job) {
    std::string& text = requests_[{job.devices, job.gib}];
    if (!text.empty()) return text;
    Request request{.devices = job.devices};
    if (job.gib > 0) request.memory = MemoryShare(Bytes{job.gib << 30U});
    return text = to_json(request);
  }
  void fault(std::size_t job, const std::string& what) {
    faults.push_back("job " + std::to_string(job) + " " + what);
  }

  Policy policy_;
  std::vector<LabJob> jobs_;  // by arrival
  Snapshot machine_;
  std::int64_t now_ = 0;
  std::size_t next_job_ = 0;
  std::vector<TicketFacts> tickets_;
  std::vector<std::size_t> running_;
  std::map<DeviceId, std::set<std::size_t>> busy_;
  int most_on_a_device_ = 0;
  std::map<uid_t, int> held_;
  std::map<std::pair<int, std::uint64_t>, std::string> requests_;
  std::string head_;
  std::int64_t head_since_ = 0;
  std::optional<std::int64_t> phase_ends_;
};

/// A lab's jobs: of 1, 2, 4 and 8 devices, of minutes to a day, half with a time limit. `load`: the
/// share of the devices that they keep busy.
[[nodiscard]] inline std::vector<LabJob> lab_jobs(int devices, std::int64_t span_ms, double load,
                                                  std::uint64_t seed) {
  const auto random = [&seed](std::uint64_t limit) {  // xorshift64
    seed ^= seed << 13U;
    seed ^= seed >> 7U;
    seed ^= seed << 17U;
    return seed % limit;
  };
  std::vector<LabJob> jobs;
  double wanted = load * devices * static_cast<double>(span_ms);
  while (wanted > 0) {
    constexpr std::int64_t minute = 60'000;
    LabJob job{.uid = static_cast<uid_t>(1000 + random(12)),
               .devices = std::min(devices, 1 << (random(8) * random(8) / 16)),
               .arrives_ms = static_cast<std::int64_t>(random(static_cast<std::uint64_t>(span_ms))),
               .lasts_ms = minute * static_cast<std::int64_t>(random(5) == 0 ? 60 + random(1380)
                                                                             : 20 + random(600))};
    if (random(2) == 0)
      job.limit_ms = job.lasts_ms + minute * static_cast<std::int64_t>(random(120));
    if (random(10) == 0) job.asked = random(2) == 0 ? Priority::high : Priority::low;
    wanted -= static_cast<double>(job.lasts_ms * job.devices);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace berth
