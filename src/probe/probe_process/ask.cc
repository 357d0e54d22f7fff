#include "probe/probe_process/ask.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "probe/containers/container_files.h"
#include "probe/device_source.h"
#include "probe/pci/pci_probe.h"
#include "probe/procfs/procfs_probe.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

using wire::ProbeStep;
using wire::StepKind;

constexpr ProbeStep opening{StepKind::driver, 0};

ProbeStep device_step(int index) { return {StepKind::device, static_cast<std::uint64_t>(index)}; }

void tell_look(StepReporter& reporter, DeviceLook look) {
  for (Device& device : look.devices) reporter.tell(std::move(device));
  for (GpuProcess& process : look.processes) reporter.tell(std::move(process));
  for (Problem& problem : look.problems) reporter.tell(std::move(problem));
}

/// The number of devices; nothing: the driver cannot be asked, and why has been told.
std::optional<int> after_opening(DeviceSource& driver, const std::expected<int, Problem>& count,
                                 const Wanted& wanted, StepReporter& reporter) {
  reporter.begin(opening);
  Host host;
  std::vector<Problem> problems;
  driver.observe_host(host, wanted, problems);
  if (count) {
    reporter.tell(wire::DeviceCount{static_cast<std::uint64_t>(*count)});
  } else {
    problems.push_back(count.error());
  }
  for (Problem& problem : problems) reporter.tell(std::move(problem));
  const std::string_view source = facts_of(*reporter.progress().driver).source;
  reporter.tell(SourceReport{.source = std::string(source), .succeeded = count.has_value()});
  reporter.tell(host);
  reporter.finish(opening);
  if (!count) return std::nullopt;
  return *count;
}

/// Tells who a device is, unless the watcher knows it from an earlier look.
void tell_identity(int index, DeviceSource& driver, const Wanted& wanted,
                   std::map<int, Device>* identified, StepReporter& reporter) {
  Device device = driver.identify_device(index, wanted);
  if (identified != nullptr) {
    Device& told = (*identified)[index];
    if (told == device) return;
    told = device;
  }
  reporter.tell(wire::Identified{static_cast<std::uint64_t>(index), std::move(device)});
}

/// Before the devices are asked: one may hang of an error that the events tell. At a first look
/// after them: it registers for events of the devices that answered.
void ask_events(DeviceSource& driver, StepReporter& reporter) {
  constexpr ProbeStep step{StepKind::events, 0};
  // Not open: another process asked the devices, and this one goes on after it.
  if (reporter.progress().is_over(step) || !driver.is_open()) return;
  reporter.begin(step);
  reporter.tell(wire::DriverEvents{driver.new_events(reporter.progress().snapshot.taken)});
  reporter.finish(step);
}

/// Whether the driver still has to be asked for anything.
bool is_driver_left(const Progress& known) {
  if (!known.device_count) return !known.is_over(opening);
  if (known.is_given_up(opening)) return false;
  for (int i = 0; i < *known.device_count; ++i) {
    if (!known.is_over(device_step(i))) return true;
  }
  return false;
}

void ask_devices(DeviceSource& driver, const Wanted& wanted, std::map<int, Device>* identified,
                 StepReporter& reporter) {
  const Progress& known = reporter.progress();
  for (int i = 0; i < *known.device_count; ++i) {
    if (known.is_over(device_step(i))) continue;
    reporter.begin(device_step(i));
    driver.wake_device(i);
    reporter.begin(device_step(i));
    tell_identity(i, driver, wanted, identified, reporter);
    reporter.begin(device_step(i));
    tell_look(reporter, driver.observe_device(i, wanted, known.snapshot.taken));
    reporter.finish(device_step(i));
  }
}

/// "6.3.0-39": a line that is a version. Nothing is installed where there is no such file.
Reading<std::string> version_in(const std::string& path) {
  constexpr std::size_t longest = 64;
  const auto text = read_file(path, longest);
  if (!text) {
    const ErrorCode code = text.error().code();
    return code == ErrorCode::not_found       ? Absent::unsupported
           : code == ErrorCode::no_permission ? Absent::no_permission
                                              : Absent::failed;
  }
  const std::string_view line = trimmed(*text);
  const bool is_version = !line.empty() && line.front() >= '0' && line.front() <= '9' &&
                          line.find('\n') == std::string_view::npos;
  return is_version ? Reading<std::string>(std::string(line)) : Absent::failed;
}

/// Behind the devices, since the file may lie on a server that does not answer.
void ask_runtime(const std::string& root, const Wanted& wanted, StepReporter& reporter) {
  constexpr ProbeStep step{StepKind::runtime, 0};
  const DeviceKind driver = *reporter.progress().driver;
  const std::string_view file = source_of(driver).runtime_file;
  if (file.empty() || !wanted.has(Extra::runtime_version)) return;
  if (reporter.progress().is_over(step)) return;
  reporter.begin(step);
  Host host;
  host.software_of(facts_of(driver).runtime).runtime = version_in(root + std::string(file));
  reporter.tell(host);
  reporter.finish(step);
}

/// Devices that hung before they had said who they are still get a row.
void tell_nameless(const DeviceSource& driver, StepReporter& reporter) {
  const Progress& known = reporter.progress();
  for (int i = 0; i < known.device_count.value_or(0); ++i) {
    if (!known.is_given_up(device_step(i))) continue;
    const auto& devices = known.snapshot.devices;
    const bool shown = std::any_of(devices.begin(), devices.end(),
                                   [&](const Device& device) { return device.index == i; });
    if (shown) continue;
    Device device = driver.skipped_device(i);
    device.unusable_because = Unusable::unanswered;  // the parent gave it up and has said why
    reporter.tell(std::move(device));
  }
}

void ask_pci(PciProbe& pci, const Wanted& wanted, StepReporter& reporter) {
  constexpr ProbeStep step{StepKind::pci, 0};
  const bool places = wanted.has(Detail::pci_path) || wanted.has(Detail::cpu_affinity);
  // The kernel knows the node of a card, too.
  const bool observes = wanted.has(Extra::other_devices) || wanted.has<&Device::numa_node>();
  if (!places && !observes) return;
  if (reporter.progress().is_over(step)) return;
  reporter.begin(step);
  Snapshot looked;
  looked.host.excluded_devices = reporter.progress().snapshot.host.excluded_devices;
  looked.devices = reporter.progress().snapshot.devices;
  looked.sources = reporter.progress().snapshot.sources;
  if (observes) pci.observe(looked);
  if (places) pci.place(looked);
  // Most of what NVML told stays as it was: only what is new is worth sending.
  const std::vector<Device>& known = reporter.progress().snapshot.devices;
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < looked.devices.size(); ++i) {
    if (i >= known.size() || looked.devices[i] != known[i]) changed.push_back(i);
  }
  for (const std::size_t i : changed) reporter.tell(std::move(looked.devices[i]));
  for (const Problem& problem : looked.problems) reporter.tell(problem);
  if (!looked.sources.empty()) reporter.tell(looked.sources.back());
  reporter.finish(step);
}

void ask_commands(ProcfsProbe& procfs, const std::vector<pid_t>& pids, StepReporter& reporter) {
  for (const pid_t pid : pids) {
    const ProbeStep step{StepKind::command, static_cast<std::uint64_t>(pid)};
    if (reporter.progress().is_over(step)) continue;
    const HostProcess* process = reporter.progress().process(pid);
    // Not there to be asked, or hidden: look_at has said so. Known from a look before: that too.
    if (process == nullptr || !process->uid.get() || process->command.get()) continue;
    reporter.begin(step);
    reporter.tell(wire::CommandOf{pid, procfs.command_of(pid)});
    reporter.finish(step);
  }
}

void ask_users(ProcfsProbe& procfs, StepReporter& reporter) {
  std::set<uid_t> uids;
  for (const HostProcess& process : reporter.progress().snapshot.processes) {
    if (process.uid.get()) uids.insert(*process.uid.get());
  }
  std::vector<uid_t> strangers;
  for (const uid_t uid : uids) {
    if (auto name = procfs.local_user(uid)) {
      reporter.tell(wire::UserName{uid, std::move(*name)});
    } else {
      strangers.push_back(uid);
    }
  }
  for (const uid_t uid : strangers) {
    const auto& given_up = reporter.progress().given_up;
    // A directory service that hung for one name hangs for the next.
    const bool hangs = std::any_of(given_up.begin(), given_up.end(),
                                   [](ProbeStep step) { return step.kind == StepKind::user; });
    const ProbeStep step{StepKind::user, uid};
    if (hangs || reporter.progress().is_over(step)) continue;
    reporter.begin(step);
    if (auto name = ProcfsProbe::directory_user(uid)) {
      reporter.tell(wire::UserName{uid, std::move(*name)});
    }
    reporter.finish(step);
  }
}

void ask_enclosures(const ContainerFiles& files, StepReporter& reporter) {
  const auto any_given_up = [&] {
    const auto& given_up = reporter.progress().given_up;
    return std::any_of(given_up.begin(), given_up.end(),
                       [](ProbeStep step) { return step.kind == StepKind::enclosure; });
  };
  for (const HostProcess& process : reporter.progress().snapshot.processes) {
    // Processes of one enclosure are told together.
    if (!process.enclosure || process.enclosure->name.get()) continue;
    if (process.enclosure->name.why() != Absent::not_sampled) continue;
    const Enclosure enclosure = *process.enclosure;
    wire::EnclosureNames names{enclosure.runtime, enclosure.id, Absent::failed, Absent::failed};
    // A server that does not answer for one home directory does not for the next.
    if (!any_given_up()) {
      const ProbeStep step{StepKind::enclosure, static_cast<std::uint64_t>(process.id.pid)};
      reporter.begin(step);
      ContainerNames found = files.names_of(enclosure);
      names.name = std::move(found.name);
      names.image = std::move(found.image);
      reporter.tell(names);
      reporter.finish(step);
    } else {
      reporter.tell(names);
    }
  }
}

void ask_processes(ProcfsProbe& procfs, const std::vector<pid_t>& pids,
                   const CollectRequest& request, StepReporter& reporter) {
  for (const pid_t pid : pids) {
    const ProbeStep step{StepKind::process, static_cast<std::uint64_t>(pid)};
    if (reporter.progress().is_over(step)) continue;
    reporter.begin(step);
    HostProcess process = procfs.look_at(pid);
    // Before it is told: what comes in between must not leave another's name.
    const bool is_it = !process.uid.get() ||
                       procfs.is_the_listed_one(pid, reporter.progress().snapshot, request.claims);
    reporter.tell(is_it ? std::move(process) : unread_process(pid));
    reporter.finish(step);
  }
}

/// Which of those on the devices are stuck: in disk sleep twice, and nothing done between.
void ask_who_is_stuck(const ProcfsProbe& procfs, StepReporter& reporter) {
  constexpr auto between = std::chrono::milliseconds(200);
  const Snapshot& seen = reporter.progress().snapshot;
  std::map<pid_t, ProcfsProbe::DiskSleep> first;
  for (const GpuProcess& use : seen.gpu_processes) {
    const HostProcess* process = reporter.progress().process(use.pid);
    if (process == nullptr || process->state.get() != "D" || process->stuck) continue;
    const auto sleep = procfs.disk_sleep_of(use.pid);
    if (sleep && sleep->id == process->id) first.emplace(use.pid, *sleep);
  }
  if (first.empty()) return;
  SystemClock clock;
  clock.wait_until(clock.now() + between);
  for (const auto& [pid, sleep] : first) {
    if (procfs.disk_sleep_of(pid) != sleep) continue;
    HostProcess stuck = *reporter.progress().process(pid);
    stuck.stuck = true;
    reporter.tell(std::move(stuck));
  }
}

void ask_device_files(ProcfsProbe& procfs, StepReporter& reporter) {
  constexpr ProbeStep step{StepKind::files, 0};
  if (reporter.progress().is_over(step)) return;
  reporter.begin(step);
  reporter.tell(wire::OpenFiles{.found = procfs.device_files()});
  reporter.finish(step);
}

/// Parents of the processes known so far, but for the first of all.
std::vector<pid_t> parents_of(const Snapshot& snapshot) {
  std::set<pid_t> parents;
  for (const HostProcess& process : snapshot.processes) {
    parents.insert(process.ancestors.begin(), process.ancestors.end());
  }
  parents.erase(1);
  return {parents.begin(), parents.end()};
}

void ask_procfs(ProcfsProbe& procfs, const ContainerFiles& containers,
                const CollectRequest& request, StepReporter& reporter) {
  const bool owners = request.wanted.has(Extra::process_owners);
  if (!owners && !request.wanted.has(Extra::process_names)) return;
  procfs.begin_look();
  const bool relations = request.relations == Relations::all;
  if (relations) ask_device_files(procfs, reporter);
  std::vector<pid_t> pids = pids_named_by(reporter.progress().snapshot, request.claims);
  ask_processes(procfs, pids, request, reporter);
  if (relations) {
    const std::vector<pid_t> parents = parents_of(reporter.progress().snapshot);
    ask_processes(procfs, parents, request, reporter);
    pids.insert(pids.end(), parents.begin(), parents.end());
    ask_who_is_stuck(procfs, reporter);
  }
  if (owners) ask_users(procfs, reporter);
  ask_commands(procfs, pids, reporter);
  if (request.wanted.has(Extra::enclosures)) ask_enclosures(containers, reporter);
}

}  // namespace

void StepReporter::tell(wire::Message message) {
  if (send_) wire::append(unsent_, message);
  apply(progress_, std::move(message));
}

void StepReporter::send() {
  if (send_ && !send_(unsent_)) send_ = nullptr;
  unsent_.clear();
}

void StepReporter::goes_on() {
  constexpr auto often_enough = std::chrono::milliseconds(100);
  if (!send_ || clock_.now() - sent_ < often_enough) return;
  sent_ = clock_.now();
  tell(wire::GoesOn{});
  send();
}

void StepReporter::begin(wire::ProbeStep step) {
  if (send_) sent_ = clock_.now();
  tell(wire::Begun{step});
  send();
}

void StepReporter::done() {
  tell(wire::Done{});
  send();
}

struct MachineProbe::Parts {
  Parts(const Sources& sources, Looks how_often, Asked what)
      : looks(how_often),
        asked(what),
        driver(what.driver ? source_of(*what.driver).make(sources) : nullptr),
        pci({.sys = sources.sys, .pci_ids = sources.pci_ids, .proc = sources.proc}),
        procfs({.proc = sources.proc, .passwd = sources.passwd}),
        containers({.root = sources.root, .passwd = sources.passwd}),
        root(sources.root) {}

  void ask_driver(const Wanted& wanted, StepReporter& reporter);

  Looks looks;
  Asked asked;
  std::unique_ptr<DeviceSource> driver;
  PciProbe pci;
  ProcfsProbe procfs;
  ContainerFiles containers;
  std::string root;
  std::optional<std::expected<int, Problem>> opened;  // of the look under way
  std::map<int, Device> identified;                   // what was last told, by index
};

MachineProbe::MachineProbe(const Sources& sources, Looks looks, Asked asked)
    : parts_(std::make_unique<Parts>(sources, looks, asked)) {}

MachineProbe::~MachineProbe() {
  // The process ends now, and somebody may wait for that: shutting the driver's library down first
  // takes time and can block.
  static_cast<void>(parts_->driver.release());
}

void MachineProbe::open(StepReporter& reporter) {
  if (!parts_->driver || parts_->opened || !is_driver_left(reporter.progress())) return;
  if (parts_->driver->is_asleep()) return;
  reporter.begin(opening);
  parts_->opened = parts_->driver->open();
}

void MachineProbe::Parts::ask_driver(const Wanted& wanted, StepReporter& reporter) {
  const bool again = looks == Looks::again;
  if (!opened && !wanted.has(Extra::sleepers) && driver->is_asleep()) {
    reporter.begin(opening);
    reporter.finish(opening);
    return;
  }
  driver->on_answer([&reporter] { reporter.goes_on(); });
  if (is_driver_left(reporter.progress())) {
    const bool has_looked = driver->is_open() && !opened;
    if (!opened) {
      reporter.begin(opening);
      opened = driver->open();
    }
    const auto count = std::exchange(opened, std::nullopt);
    if (after_opening(*driver, *count, wanted, reporter) && wanted.has(Extra::devices)) {
      if (has_looked && again) ask_events(*driver, reporter);
      ask_devices(*driver, wanted, again ? &identified : nullptr, reporter);
    }
  }
  tell_nameless(*driver, reporter);
  driver->on_answer(nullptr);
  if (again) ask_events(*driver, reporter);
  ask_runtime(root, wanted, reporter);
}

void MachineProbe::ask(const CollectRequest& request, StepReporter& reporter) {
  if (parts_->driver) parts_->ask_driver(request.wanted, reporter);
  if (parts_->asked.kernel) {
    ask_pci(parts_->pci, request.wanted, reporter);
    ask_procfs(parts_->procfs, parts_->containers, request, reporter);
  }
  reporter.done();
}

}  // namespace berth
