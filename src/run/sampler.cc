#include "run/sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/process.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/gather.h"
#include "record/run_container.h"
#include "run/driver_watch.h"
#include "run/shim_watch.h"
#include "run/tree.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/fields.h"
#include "snapshot/questions.h"
#include "snapshot/snapshot_index.h"

namespace berth {

namespace {

std::vector<WatchedShare> shares_of(const Manifest& manifest) {
  std::vector<WatchedShare> shares;
  const bool is_held = manifest.cap && manifest.cap->tier != CapTier::none;
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    shares.push_back({.device = name_for_people(manifest.given.devices[at]),
                      .cap = is_held ? manifest.promised.at(at) : std::nullopt});
  }
  return shares;
}

class Sampler {
 public:
  Sampler(const SamplerTask& task, Fd from_keeper, Fd to_keeper)
      : task_(task),
        from_keeper_(std::move(from_keeper)),
        to_keeper_(std::move(to_keeper)),
        tree_(task.root != 0 ? TreeWatch::of(task.root, task.options->proc)
                             : TreeWatch(task.keeper, task.options->proc)),
        faults_(task.manifest.given.devices, task.options->job.request.allow_failed
                                                 ? FaultWatch::Known::what_the_first_look_finds
                                                 : FaultWatch::Known::nothing),
        driver_(task.manifest.given),
        silence_(task.manifest.given.devices),
        memory_(shares_of(task.manifest), task.manifest.given.simulated
                                              ? MemoryWatch::Figures::simulated
                                              : MemoryWatch::Figures::measured),
        shim_(task.manifest, task.record != nullptr ? task.record->directory() : "",
              task.options->proc) {
    if (task.manifest.job) own_.insert(task.manifest.job->pid);
  }

  int run() {
    gather_quick();
    open_samples();
    auto sight = task_.services->sight ? task_.services->sight()
                                       : Result<Sight>(fail(ErrorCode::unsupported, "no sources"));
    if (sight) {
      sight_ = std::move(*sight);
    } else {
      tell(
          Note{"sampler_blind", sentence("the devices are not sampled: {}", sight.error().said())});
    }
    take_sample();
    tell("ready");
    gather_slow();
    return loop();
  }

 private:
  void tell(const std::string& line) { (void)write_all(to_keeper_.get(), line + "\n"); }
  void tell(const Note& note) {
    tell(fmt::format("event {} {}", note.kind, printable(note.text.english())));
  }

  void complain_once(const Error& error) {
    if (!std::exchange(complained_, true)) tell("lost " + error.message());
  }

  void write_manifest() {
    if (task_.record == nullptr) return;
    const auto written = task_.record->write_manifest(task_.manifest);
    if (!written) complain_once(written.error());
  }

  void gather_quick() {
    const RunOptions& options = *task_.options;
    Manifest& manifest = task_.manifest;
    manifest.machine =
        gather_machine({.proc = options.proc, .sys = options.sys, .etc = options.etc});
    manifest.git = gather_git(options.working_directory);
    manifest.python = gather_python(options.job.command, search_path_in(options.environment));
    write_manifest();
  }

  void gather_slow() {
    if (task_.manifest.git) {
      task_.manifest.git->dirty =
          is_git_dirty(task_.manifest.git->root, task_.options->environment, task_.services->clock);
    }
    task_.manifest.complete = true;
    write_manifest();
  }

  void open_samples() {
    if (task_.record == nullptr) return;
    auto samples = task_.record->open_samples();
    if (samples) {
      samples_ = std::move(*samples);
    } else {
      complain_once(samples.error());
    }
  }

  int loop() {
    Clock& clock = task_.services->clock;
    Instant next = clock.now() + task_.options->sample_every;
    for (;;) {
      const Duration left = next - clock.now();
      if (left > Duration(0) && !wait_readable({from_keeper_.get()}, left).front()) continue;
      if (left > Duration(0)) {
        char command = 0;
        if (::read(from_keeper_.get(), &command, 1) != 1) return 0;
        take_sample();
        tell("sampled");
        if (command == finish_up) return 0;
        continue;
      }
      take_sample();
      // After a pause of the machine the missed samples are not made up for.
      next = std::max(next + task_.options->sample_every, clock.now());
    }
  }

  Claim own_claim(const Moment& now) const {
    const Manifest& manifest = task_.manifest;
    Claim claim{.id = manifest.lease,
                .run = manifest.id,
                .uid = manifest.uid,
                .user = manifest.user,
                .keeper = manifest.keeper,
                .job = manifest.job};
    claim.command = manifest.command.empty() ? std::string() : manifest.command.front();
    // As seen from today's date, which may have been set since.
    const std::int64_t age = time_in(manifest, now).unix_ms - manifest.started.unix_ms;
    claim.since = {now.wall.unix_ms - age};
    for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
      claim.devices.push_back({manifest.given.devices[at].id, manifest.promised[at]});
    }
    claim.container = container_;
    return claim;
  }

  void look_for_container() {
    if (!task_.has_container || task_.record == nullptr) return;
    const auto container = run_container_in(task_.record->directory());
    if (!container) return;
    container_ = container->id;
    if (container->process && !container->ended) tree_.add_root(container->process->pid);
  }

  void take_sample() {
    const Moment moment = task_.services->clock.moment();
    const WallTime now = moment.wall;
    look_for_container();
    TreeWatch::TreeUse seen = tree_.look();
    const std::vector<Device>& given = task_.manifest.given.devices;
    Sample sample{.at = time_in(task_.manifest, moment)};
    sample.tree = {.processes = seen.pids.size(),
                   .cpu = seen.cpu,
                   .memory_resident = seen.memory_resident,
                   .read = seen.read,
                   .written = seen.written,
                   .device_files_open = Absent::not_sampled};
    const bool has_to_keep_off = task_.manifest.cpu_only && !seen.pids.empty();
    if (has_to_keep_off) {
      sample.tree.device_files_open =
          with_device_open(seen.pids, task_.options->device_files, task_.options->proc);
    }
    Snapshot snapshot;
    shim_.before_look();
    const Claim own = own_claim(moment);
    if (sight_) snapshot = sight_(given.empty() ? std::vector<Claim>() : std::vector{own}, now);
    // `docker exec` starts what is no descendant of the container's first process.
    for (const HostProcess& process : snapshot.processes) {
      const bool is_known = contains(seen.pids, process.id.pid);
      if (!is_known && is_in_container_of(own, process)) seen.pids.push_back(process.id.pid);
    }
    // In a container a number of the driver's list may be ours by chance.
    for (GpuProcess& process : snapshot.gpu_processes) {
      const HostProcess* known = find_process(process.pid, snapshot);
      if (known != nullptr && is_elsewhere(*known, snapshot.host)) process.pid = 0;
    }
    if (has_to_keep_off && sight_) sample.tree.gpu_contexts = listed_on_gpus(snapshot, seen.pids);
    if (!std::exchange(facts_taken_, true)) take_facts(snapshot);
    for (const Device& device : given) {
      const Device* current = find_device(device.id, snapshot);
      sample.devices.push_back(current != nullptr ? sample_of(*current) : DeviceSample{});
    }
    sample.processes = own_processes(snapshot, seen.pids, given);
    sample.others = others_beside(snapshot, seen.pids, given);
    own_.insert(seen.pids.begin(), seen.pids.end());
    report_faults(snapshot);
    for (const Note& news : driver_.news(snapshot)) {
      tell(news);
    }
    report_silence(snapshot);
    report_strays(snapshot, seen.pids);
    report_memory(snapshot, sample);
    write(sample);
  }

  /// The ledger is read only if others are on the run's devices. It tells who has what leases are
  /// promised.
  void report_memory(Snapshot& snapshot, const Sample& sample) {
    if (!task_.manifest.cap || !sight_) return;
    const Ledger* ledger = task_.services->ledger;
    auto view = ledger != nullptr && !sample.others.empty() ? ledger->read()
                                                            : Result<LedgerView>(LedgerView{});
    snapshot.claims = view ? std::move(view->claims) : std::vector<Claim>();
    const SnapshotIndex index(snapshot);
    std::vector<WatchedMemory> seen;
    for (std::size_t at = 0; at < task_.manifest.given.devices.size(); ++at) {
      const Device* device = index.device(task_.manifest.given.devices[at].id);
      seen.push_back(own_memory(sample.processes, at, device, snapshot.host));
      if (device != nullptr) seen.back().taken = promises_taken(*device, index);
    }
    for (const Note& news : memory_.news(seen, task_.services->clock.now())) {
      tell(news);
      if (news.kind == memory_over_cap) tell(std::string(over_cap));
    }
    std::vector<Reading<Bytes>> measured;
    for (const WatchedMemory& one : seen) measured.push_back(one.own);
    report_shim(sample, measured);
  }

  void report_shim(const Sample& sample, const std::vector<Reading<Bytes>>& measured) {
    for (const Note& news : shim_.after_look(sample.processes, measured, task_.services->clock)) {
      tell(news);
    }
    if (!shim_.has_changed()) return;
    const auto written = write_file_atomically(task_.record->path_of(record_file::cap),
                                               cap_seen_to_json(shim_.seen()), 0600);
    if (!written) complain_once(written.error());
  }

  /// The choice was made on a quick look: what that left out is read once the job runs. If nothing
  /// was chosen there was no such look, and this is the first.
  void take_facts(const Snapshot& snapshot) {
    if (sight_ && task_.manifest.given.devices.empty()) {
      task_.manifest.given.host = snapshot.host;
      if (snapshot.simulated) task_.manifest.given.simulated = snapshot.simulated;
    }
    for (const Runtime vendor : vendors_asked(snapshot.host)) {
      Reading<std::string>& known = task_.manifest.given.host.software_of(vendor).runtime;
      if (!known.get()) known = snapshot.host.software_of(vendor).runtime;
    }
    for (Device& device : task_.manifest.given.devices) {
      const Device* seen = find_device(device.id, snapshot);
      if (seen == nullptr) continue;
      for (const Field* field : stored_fields()) {
        const Cell had = field->read(device, task_.manifest.given);
        if (!had.has_value() && had.why() == Absent::not_sampled) {
          field->write(device, field->read(*seen, snapshot));
        }
      }
    }
  }

  void report_faults(const Snapshot& snapshot) {
    if (!task_.services->faults || task_.manifest.given.devices.empty()) return;
    const auto found = without_errors_of_others(task_.services->faults(snapshot), own_);
    for (const FaultNews& news : faults_.news(found, snapshot)) tell("fault " + to_line(news));
  }

  void report_silence(const Snapshot& snapshot) {
    using Means = DriverSilence::Means;
    const Means means = may_ask_driver() ? Means::there : Means::lacking;
    const SilenceNews news = silence_.news(snapshot, means, task_.services->clock.now());
    for (const Note& event : news.events) {
      tell(event);
    }
    for (const FaultNews& fault : news.faults) tell("fault " + to_line(fault));
  }

  /// "Unknown Error" can be ours alone, while jobs go on working on the devices. A container that
  /// lost its access to the devices gets it (after `systemctl daemon-reload`, say). A process that
  /// may open no more files gets it, too.
  [[nodiscard]] bool may_ask_driver() const {
    if (had_access_ && !has_access()) return false;
    return open_fd("/dev/null", O_RDONLY).has_value();
  }
  [[nodiscard]] bool has_access() const {
    return std::ranges::all_of(task_.manifest.given.devices, [](const Device& device) {
      const std::string file(facts_of(device.kind).driver_file);
      return file.empty() || ::access(file.c_str(), R_OK | W_OK) == 0;  // the control group, too
    });
  }

  void report_strays(const Snapshot& snapshot, const std::vector<pid_t>& pids) {
    for (const Stray& stray : strays_in(snapshot, pids, task_.manifest.given.devices)) {
      if (!reported_.insert(stray).second) continue;
      const Device* device = find_device(stray.device, snapshot);
      const std::string name = device != nullptr && device->index
                                   ? "GPU " + std::to_string(*device->index)
                                   : stray.device.text();
      tell(Note{"outside_lease",
                sentence("process {} of this run is on {}, which the run was not given", stray.pid,
                         name)});
    }
  }

  void write(Sample& sample) {
    if (!samples_.is_open()) return;
    struct stat marks{};
    const std::string path = task_.record->path_of(record_file::marks);
    if (::stat(path.c_str(), &marks) == 0) {
      sample.marks_bytes = static_cast<std::uint64_t>(marks.st_size);
    }
    const auto written = write_all(samples_.get(), to_line(sample));
    if (!written) complain_once(written.error());
  }

  SamplerTask task_;
  Fd from_keeper_;
  Fd to_keeper_;
  Fd samples_;
  TreeWatch tree_;
  Sight sight_;
  FaultWatch faults_;
  DriverWatch driver_;
  DriverSilence silence_;
  MemoryWatch memory_;
  ShimWatch shim_;
  bool had_access_ = has_access();
  std::string container_;  // its id; empty: none is known
  std::set<pid_t> own_;    // every process of the run that was ever seen
  bool facts_taken_ = false;
  std::set<Stray> reported_;
  bool complained_ = false;
};

}  // namespace

std::vector<Stray> strays_in(const Snapshot& snapshot, const std::vector<pid_t>& tree,
                             const std::vector<Device>& given) {
  std::vector<Stray> strays;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (!contains(tree, process.pid)) continue;
    const bool is_given = std::any_of(given.begin(), given.end(), [&](const Device& device) {
      return device.id == process.device || device.parent == process.device;
    });
    if (!is_given) strays.push_back({.pid = process.pid, .device = process.device});
  }
  return strays;
}

Reading<std::uint64_t> with_device_open(const std::vector<pid_t>& tree,
                                        const std::vector<std::string>& device_files,
                                        const std::string& proc) {
  std::uint64_t open = 0;
  std::optional<Absent> unknown;
  for (const pid_t pid : tree) {
    const Reading<bool> has = device_open_in(pid, device_files, proc);
    if (!has.get()) unknown = has.why();
    if (has.get().value_or(false)) ++open;
  }
  return open == 0 && unknown ? Reading<std::uint64_t>(*unknown) : open;
}

Reading<std::uint64_t> listed_on_gpus(const Snapshot& snapshot, const std::vector<pid_t>& tree) {
  std::set<pid_t> listed;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (contains(tree, process.pid)) listed.insert(process.pid);
  }
  if (!listed.empty()) return std::uint64_t{listed.size()};
  if (snapshot.devices.empty()) return Absent::unsupported;
  for (const Device& device : snapshot.devices) {
    if (!device.process_count.get()) return device.process_count.why();
  }
  return std::uint64_t{0};
}

std::vector<ProcessSample> own_processes(const Snapshot& snapshot, const std::vector<pid_t>& tree,
                                         const std::vector<Device>& given) {
  std::vector<ProcessSample> own;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (!contains(tree, process.pid)) continue;
    for (std::size_t at = 0; at < given.size(); ++at) {
      if (given[at].id != process.device) continue;
      own.push_back({.device = at, .pid = process.pid, .memory = process.memory});
    }
  }
  return own;
}

WatchedMemory own_memory(const std::vector<ProcessSample>& own, std::size_t place,
                         const Device* seen, const Host& host) {
  if (seen == nullptr || seen->lost || is_silent(*seen)) return {.own = Absent::not_sampled};
  if (is_list_unread(*seen)) return {.own = seen->process_count.why()};
  Bytes sum;
  bool any = false;
  for (const ProcessSample& process : own) {
    if (process.device != place) continue;
    if (!process.memory.get()) return {.own = process.memory.why()};
    sum += *process.memory.get();
    any = true;
  }
  if (!any && numbers_are_the_hosts(host)) {
    return {
        .own = Absent::unsupported,
        .unread_because = as_key("the driver's process numbers are not those of this container")};
  }
  if (!any && !seen->process_count.get()) return {.own = seen->process_count.why()};
  return {.own = sum};
}

std::vector<OthersSample> others_beside(const Snapshot& snapshot, const std::vector<pid_t>& tree,
                                        const std::vector<Device>& given) {
  std::map<std::pair<std::size_t, std::string>, Reading<Bytes>> sums;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (contains(tree, process.pid)) continue;
    const HostProcess* known = find_process(process.pid, snapshot);
    const std::string user =
        known != nullptr && known->user.get() ? *known->user.get() : std::string();
    for (std::size_t at = 0; at < given.size(); ++at) {
      if (given[at].id != process.device) continue;
      Reading<Bytes>& sum = sums.try_emplace({at, user}, Bytes(0)).first->second;
      if (!sum.get()) continue;
      sum = process.memory.get()
                ? Reading<Bytes>(Bytes(sum.get()->count() + process.memory.get()->count()))
                : process.memory;
    }
  }
  std::vector<OthersSample> others;
  for (const auto& [whose, memory] : sums) {
    others.push_back({.device = whose.first, .user = whose.second, .memory = memory});
  }
  return others;
}

int sample_run(const SamplerTask& task, Fd from_keeper, Fd to_keeper) {
  // Our own end with the keeper's also comes as the pipe's end; this is for a hang in the driver.
  const auto tied = die_with_parent(task.keeper);
  if (!tied) return 0;
  return Sampler(task, std::move(from_keeper), std::move(to_keeper)).run();
}

}  // namespace berth
