#include "probe/probe_process/progress.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>
#include <utility>

#include "probe/device_source.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

using wire::ProbeStep;
using wire::StepKind;

/// What nobody asked for takes no reason away.
template <class T>
void fill(Reading<T>& known, Reading<T> told) {
  if (!known.get() && told != Reading<T>()) known = std::move(told);
}

void put(std::vector<Device>& devices, Device device) {
  for (Device& known : devices) {
    if (known.id != device.id) continue;
    known = std::move(device);
    return;
  }
  devices.push_back(std::move(device));
}

template <class List>
auto place_of(pid_t pid, List& processes) {
  return std::ranges::lower_bound(processes, pid, {},
                                  [](const HostProcess& process) { return process.id.pid; });
}

void put(std::vector<HostProcess>& processes, HostProcess process) {
  const auto place = place_of(process.id.pid, processes);
  if (place != processes.end() && place->id.pid == process.id.pid) {
    *place = std::move(process);
  } else {
    processes.insert(place, std::move(process));
  }
}

struct Receiver {
  Progress& progress;

  void operator()(wire::Begun& begun) {
    progress.begun = progress.current == begun.step ? progress.begun + 1 : 1;
    progress.current = begun.step;
  }
  void operator()(wire::Finished& finished) {
    progress.over.insert(finished.step);
    progress.current.reset();
  }
  void operator()(wire::DeviceCount& devices) {
    constexpr std::uint64_t most = 1024;  // no source tells more
    progress.device_count = static_cast<int>(std::min(devices.count, most));
    constexpr std::size_t usual = 64;  // more come piece by piece
    progress.snapshot.devices.reserve(std::min<std::size_t>(devices.count, usual));
  }
  void operator()(wire::Identified& identified) { progress.identified = std::move(identified); }
  void operator()(wire::CommandOf& command) {
    const auto place = place_of(command.pid, progress.snapshot.processes);
    if (place == progress.snapshot.processes.end() || place->id.pid != command.pid) return;
    place->command = std::move(command.command);
  }
  void operator()(wire::UserName& user) {
    for (HostProcess& process : progress.snapshot.processes) {
      if (process.uid.get() == user.uid) process.user = user.name;
    }
  }
  void operator()(wire::EnclosureNames& names) {
    for (HostProcess& process : progress.snapshot.processes) {
      auto& enclosure = process.enclosure;
      if (!enclosure || enclosure->runtime != names.runtime || enclosure->id != names.id) continue;
      enclosure->name = names.name;
      enclosure->image = names.image;
    }
  }
  void operator()(wire::Done&) {
    progress.current.reset();
    progress.is_done = true;
  }
  void operator()(wire::GoesOn&) {}
  void operator()(Host& told) { fill(progress.snapshot.host, std::move(told)); }
  void operator()(Device& device) { put(progress.snapshot.devices, std::move(device)); }
  void operator()(GpuProcess& process) {
    progress.snapshot.gpu_processes.push_back(std::move(process));
  }
  void operator()(wire::DriverEvents& told) { progress.driver_events = std::move(told.events); }
  void operator()(wire::OpenFiles& files) {
    progress.snapshot.device_files = std::move(files.found);
  }
  void operator()(HostProcess& process) { put(progress.snapshot.processes, std::move(process)); }
  void operator()(Problem& problem) {
    auto& problems = progress.snapshot.problems;
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
      problems.push_back(std::move(problem));
    }
  }
  void operator()(SourceReport& report) {
    for (SourceReport& known : progress.snapshot.sources) {
      if (known.source != report.source) continue;
      known = std::move(report);
      return;
    }
    progress.snapshot.sources.push_back(std::move(report));
  }
};

}  // namespace

void fill(Host& known, Host told) {
  // A member that is added does not compile until it is filled.
  auto& [name, kernel, boot_id, software, process_view, excluded_devices] = told;
  fill(known.name, std::move(name));
  fill(known.kernel, std::move(kernel));
  fill(known.boot_id, std::move(boot_id));
  for (std::size_t i = 0; i < known.software.size(); ++i) {
    fill(known.software[i].driver, std::move(software[i].driver));
    fill(known.software[i].library, std::move(software[i].library));
    fill(known.software[i].runtime, std::move(software[i].runtime));
  }
  fill(known.process_view, std::move(process_view));
  fill(known.excluded_devices, std::move(excluded_devices));
}

namespace {

Sentence what_of(const ProbeStep& step, const Progress& progress) {
  switch (step.kind) {
    case StepKind::driver:
      return progress.driver ? Sentence(source_of(*progress.driver).opening) : Sentence();
    case StepKind::device:
      return sentence("asking GPU {}", step.number);
    case StepKind::pci:
      return sentence("listing the PCI devices");
    case StepKind::process:
      return sentence("reading /proc/{}", step.number);
    case StepKind::command:
      return sentence("reading the command line of process {}", step.number);
    case StepKind::user:
      return sentence("asking for the name of user {}", step.number);
    case StepKind::files:
      return sentence("looking for who has the device files open");
    case StepKind::enclosure:
      return sentence("reading the name of the container of process {}", step.number);
    case StepKind::events:
      return sentence("asking the driver for the errors it has reported");
    case StepKind::runtime:
      return progress.driver
                 ? sentence("reading the version of {}", facts_of(*progress.driver).runtime_name)
                 : Sentence();
  }
  return {};
}

std::string_view source_of(const ProbeStep& step, const Progress& progress) {
  switch (step.kind) {
    case StepKind::driver:
    case StepKind::device:
    case StepKind::events:
      return progress.driver ? facts_of(*progress.driver).source : "";
    case StepKind::pci:
      return "pci";
    case StepKind::process:
    case StepKind::command:
    case StepKind::user:
    case StepKind::files:
      return "procfs";
    case StepKind::enclosure:
      return "containers";
    case StepKind::runtime:
      return "runtime";
  }
  return "";
}

Sentence remedy_of(const ProbeStep& step, const Progress& progress) {
  switch (step.kind) {
    case StepKind::driver:
    case StepKind::device:
    case StepKind::events:
      return progress.driver ? Sentence(facts_of(*progress.driver).log_advice) : Sentence();
    case StepKind::user:
      return sentence("the directory service does not answer; user numbers are shown instead");
    case StepKind::enclosure:
      return sentence("a file system behind it does not answer; its id is shown instead");
    case StepKind::runtime:
      return sentence("the file system behind it does not answer");
    case StepKind::pci:
    case StepKind::process:
    case StepKind::command:
    case StepKind::files:
      return sentence("the process or the file system behind it is stuck in the kernel");
  }
  return {};
}

Problem problem_of(const ProbeStep& step, const GivenUp& reason, const Progress& progress) {
  Problem problem{.source = std::string(source_of(step, progress)),
                  .remedy = remedy_of(step, progress)};
  const Sentence what = what_of(step, progress);
  switch (reason.why) {
    case GivenUp::Why::stalled: {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(reason.waited).count();
      problem.code = "timeout";
      problem.message = sentence("{}: no answer for {} ms, given up", what, ms);
      break;
    }
    case GivenUp::Why::died:
      problem.code = "crashed";
      problem.message = sentence("{}: the probe process died of {}", what, reason.how);
      break;
    case GivenUp::Why::out_of_time:
      problem.code = "timeout";
      problem.message = sentence("{}: no time was left for it", what);
      break;
  }
  return problem;
}

void leave_device_row(Progress& progress, const ProbeStep& step, Problem& problem) {
  if (!progress.identified || progress.identified->index != step.number) {
    progress.unnamed.emplace(step.number, problem.message);
    return;
  }
  Device device = progress.identified->device;
  problem.device = device.id;
  if (device.unusable_because.empty()) {
    device.unusable_because = Unusable::silent;
  }
  mark_unread(device, Absent::failed);
  put(progress.snapshot.devices, std::move(device));
}

void leave_enclosure_unnamed(Progress& progress, pid_t pid) {
  for (const HostProcess& process : progress.snapshot.processes) {
    if (process.id.pid != pid || !process.enclosure) continue;
    apply(progress, wire::EnclosureNames{.runtime = process.enclosure->runtime,
                                         .id = process.enclosure->id,
                                         .name = Absent::failed,
                                         .image = Absent::failed});
    return;
  }
}

/// What was said of devices before they had said who they are is said of the rows they got.
void name_devices(const std::map<std::uint64_t, Sentence>& unnamed, Snapshot& snapshot) {
  for (const auto& [index, message] : unnamed) {
    const auto row = std::ranges::find_if(snapshot.devices, [&](const Device& device) {
      return !device.parent && device.index && std::cmp_equal(*device.index, index);
    });
    const auto problem = std::ranges::find_if(snapshot.problems, [&](const Problem& one) {
      return !one.device && one.message == message;
    });
    if (row == snapshot.devices.end() || problem == snapshot.problems.end()) continue;
    problem->device = row->id;
  }
}

}  // namespace

const HostProcess* Progress::process(pid_t pid) const {
  const auto place = place_of(pid, snapshot.processes);
  return place != snapshot.processes.end() && place->id.pid == pid ? &*place : nullptr;
}

HostProcess unread_process(pid_t pid) {
  HostProcess process;
  process.id.pid = pid;
  process.uid = Absent::failed;
  process.user = process.executable_name = Absent::failed;
  process.command = Absent::failed;
  process.started = Absent::failed;
  process.cpu_time = Absent::failed;
  process.memory_resident = Absent::failed;
  process.state = process.container = Absent::failed;
  return process;
}

void apply(Progress& progress, wire::Message&& message) { std::visit(Receiver{progress}, message); }

void give_up(Progress& progress, ProbeStep step, const GivenUp& reason) {
  progress.over.insert(step);
  progress.given_up.insert(step);
  if (progress.current == step) progress.current.reset();
  Problem problem = problem_of(step, reason, progress);
  switch (step.kind) {
    case StepKind::device:
      leave_device_row(progress, step, problem);
      break;
    case StepKind::process:
      put(progress.snapshot.processes, unread_process(static_cast<pid_t>(step.number)));
      break;
    case StepKind::files:
      progress.snapshot.device_files = Absent::failed;
      break;
    case StepKind::events:
      progress.driver_events = Absent::failed;
      break;
    case StepKind::runtime:
      if (progress.driver) {
        progress.snapshot.host.software_of(facts_of(*progress.driver).runtime).runtime =
            Absent::failed;
      }
      break;
    case StepKind::enclosure:
      leave_enclosure_unnamed(progress, static_cast<pid_t>(step.number));
      break;
    case StepKind::driver:
    case StepKind::pci:
    case StepKind::command:
    case StepKind::user:
      break;
  }
  apply(progress, std::move(problem));
}

void give_up_driver(Progress& progress, const GivenUp& reason) {
  for (int i = 0; i < progress.device_count.value_or(0); ++i) {
    const ProbeStep device{StepKind::device, static_cast<std::uint64_t>(i)};
    if (!progress.is_over(device)) give_up(progress, device, reason);
  }
}

bool give_up_current(Progress& progress, const GivenUp& reason, bool driver_is_late) {
  if (!progress.current) {
    const bool died = reason.why == GivenUp::Why::died;
    apply(progress, Problem{.source = "probe",
                            .code = died ? "crashed" : "timeout",
                            .message = died ? sentence("the probe process died of {}", reason.how)
                                            : sentence("the probe process did not answer")});
    return false;
  }
  const ProbeStep step = *progress.current;
  give_up(progress, step, reason);
  if (step.kind == StepKind::driver || (step.kind == StepKind::device && driver_is_late)) {
    give_up_driver(progress, {.why = GivenUp::Why::out_of_time});
  }
  return true;
}

GivenUp scribbled() {
  return {.why = GivenUp::Why::died, .how = sentence("bytes that are not its own in its pipe")};
}

void tell_of_no_process(Progress& progress, const Error& why) {
  apply(progress,
        Problem{.source = "probe",
                .code = "no_process",
                .message = why.said(),
                .remedy = sentence("see ulimit -u (processes) and ulimit -n (open files)")});
}

void sort_devices(std::vector<Device>& devices) {
  const auto place = [](const Device& device) {
    return std::tuple(device.index.value_or(std::numeric_limits<int>::max()),
                      device.parent.has_value());
  };
  const auto comes_before = [&](const Device& a, const Device& b) { return place(a) < place(b); };
  if (std::ranges::is_sorted(devices, comes_before)) return;  // as a driver mostly tells them
  std::ranges::stable_sort(devices, comes_before);
}

Snapshot finished_snapshot(Progress progress, Finished how) {
  Snapshot& snapshot = progress.snapshot;
  name_devices(progress.unnamed, snapshot);
  const auto report = [&](std::string_view source, bool succeeded) {
    const bool told = std::ranges::any_of(
        snapshot.sources, [&](const SourceReport& one) { return one.source == source; });
    if (!told) snapshot.sources.push_back({.source = std::string(source), .succeeded = succeeded});
  };
  // One that was left asleep was not asked: it neither answered nor failed.
  const ProbeStep opening{StepKind::driver, 0};
  const bool is_asleep = progress.is_over(opening) && !progress.is_given_up(opening);
  if (progress.driver && !is_asleep) {
    report(facts_of(*progress.driver).source, progress.device_count.has_value());
  }
  if (how.kernel) {
    report("pci", false);
    report("procfs", how.has_run);
  }
  sort_devices(snapshot.devices);
  return std::move(snapshot);
}

}  // namespace berth
