#include "run/isolate_check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/fd.h"
#include "base/process.h"
#include "base/scratch_directory.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "host_environment/cuda_driver.h"
#include "snapshot/device_kind.h"
#include "snapshot/json.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Answer = IsolationCheck::Answer;

constexpr Duration patience = std::chrono::seconds(60);
constexpr Duration patience_of_one = std::chrono::seconds(20);

/// Something that is tried. The text says on what it worked.
struct Trial {
  std::string_view name;
  std::string_view title;
  std::function<Result<std::string>()> attempt;
  /// Whether it is to work outside as well.
  bool has_control = true;
};

// --- files ------------------------------------------------------------------------------------

Result<void> in_each(const std::vector<std::string>& folders,
                     const std::function<Result<void>(const std::string&)>& attempt) {
  for (const std::string& folder : folders) {
    if (auto done = attempt(folder); !done) return done;
  }
  return {};
}

Result<void> write_new(const std::string& path) {
  const auto file = open_fd(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
  if (!file) return std::unexpected(file.error());
  return write_all(file->get(), "#!/bin/sh\nexit 0\n");
}

Result<void> move_between(const std::string& folder) {
  for (const std::string& part : {folder + "/a", folder + "/b"}) {
    if (auto made = make_directories(part); !made) return made;
  }
  if (auto written = write_new(folder + "/a/checkpoint"); !written) return written;
  const std::string from = folder + "/a/checkpoint";
  const std::string to = folder + "/b/checkpoint";
  if (::rename(from.c_str(), to.c_str()) != 0) return fail_system(errno, "move {}", from);
  return {};
}

Result<void> link_between(const std::string& folder) {
  if (auto moved = move_between(folder); !moved) return moved;
  const std::string from = folder + "/b/checkpoint";
  const std::string to = folder + "/a/linked";
  (void)::unlink(to.c_str());
  if (::link(from.c_str(), to.c_str()) != 0) return fail_system(errno, "link {}", from);
  return {};
}

Result<void> run_new(const std::string& folder, Clock& clock) {
  const std::string path = folder + "/program";
  if (auto written = write_new(path); !written) return written;
  const auto answer = answer_of({path}, {}, default_search_path, clock, patience_of_one);
  if (!answer) return std::unexpected(answer.error());
  if (answer->exit == Exit{}) return {};
  return fail(ErrorCode::io, "cannot run {}: {}", path, trimmed(answer->err));
}

/// As a loader's worker gives its batch to the training: a file of /dev/shm that both have mapped.
Result<std::string> share_with_a_worker() {
  const std::string path = "/dev/shm/.berth-isolate-" + std::to_string(::getpid());
  auto file = open_fd(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file) return std::unexpected(file.error());
  (void)::unlink(path.c_str());
  constexpr std::size_t size = 4096;
  if (::ftruncate(file->get(), size) != 0) return fail_system(errno, "enlarge {}", path);
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0);
  if (mapped == MAP_FAILED) return fail_system(errno, "map {}", path);
  auto* batch = static_cast<volatile int*>(mapped);
  const auto worker = fork_process([&] {
    *batch = 7;
    return 0;
  });
  if (!worker) return std::unexpected(worker.error());
  const auto end = reap(*worker);
  const int seen = *batch;
  (void)::munmap(mapped, size);
  if (!end) return std::unexpected(end.error());
  if (seen != 7) return fail(ErrorCode::io, "a worker's memory in /dev/shm was not shared");
  return "/dev/shm";
}

// --- devices ----------------------------------------------------------------------------------

/// Which devices NVML and CUDA are to show.
struct Given {
  const Device* device = nullptr;  // null: this machine has none to try with
  Sentence why;                    // then
  IsolationPlan plan;
};

Given first_that_can_be_given(const Snapshot& snapshot, const IsolationFacts& facts) {
  Given given;
  for (const Device& device : snapshot.devices) {
    const bool can_be_given =
        obstacle_of(device, snapshot) == Obstacle::none && division_of(device) != Division::divided;
    if (!can_be_given) continue;
    auto plan = plan_isolation({device.id}, snapshot, facts);
    if (plan) return {.device = &device, .plan = *std::move(plan)};
    given.why = plan.error().said();
  }
  if (given.why.empty()) given.why = sentence("no GPU is here that a job could be given");
  return given;
}

Result<std::string> open_own(const IsolationPlan& plan) {
  for (const std::string& path : plan.own) {
    const auto file = open_fd(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
    if (!file) return std::unexpected(file.error());
  }
  return joined(plan.own, " ");
}

/// What is closed answers EACCES. The drivers accept a descriptor that was opened neither to read
/// nor to write (mode 3). From Landlock version 5 on, ioctl() on that answers EACCES, too.
Result<std::string> fail_to_open(const std::vector<std::string>& closed, bool has_ioctl) {
  for (const std::string& path : closed) {
    const auto file = open_fd(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
    if (file) return fail(ErrorCode::io, "{} could be opened", path);
    if (file.error().code() != ErrorCode::no_permission) return std::unexpected(file.error());
    if (!has_ioctl) continue;
    const auto bare = open_fd(path, O_ACCMODE | O_NONBLOCK | O_NOCTTY);
    if (bare && (::ioctl(bare->get(), 0, nullptr) == 0 || errno != EACCES)) {
      return fail(ErrorCode::io, "{} answered ioctl()", path);
    }
  }
  return joined(closed, " ");
}

/// Ourselves, asked inside: what NVML shows there is the given device and no other.
Result<std::string> count_by_nvml(const IsolationQuestion& question, const Device& given,
                                  Clock& clock) {
  const auto answer = answer_of({question.program, "status", "--json"}, question.environment,
                                default_search_path, clock, patience_of_one, 64 << 20);
  if (!answer) return std::unexpected(answer.error());
  const auto seen = snapshot_from_json(answer->out);
  if (!seen) return std::unexpected(seen.error());
  std::string listed;
  bool is_right = true;
  for (const Device& device : seen->devices) {
    if (!is_supported(device) || !device.index || !device.unusable_because.empty()) continue;
    is_right &= device.id == given.id || device.id == given.parent ||
                (given.parent && device.parent == given.parent);
    listed += (listed.empty() ? "" : " ") + device.id.text();
  }
  if (is_right && !listed.empty()) return listed;
  return fail(ErrorCode::io, "NVML shows: {}", listed.empty() ? "-" : listed);
}

Result<std::string> count_by_cuda(const IsolationQuestion& question, Clock& clock) {
  const CudaAnswer answer = ask_cuda(question.cuda_library, clock, patience_of_one);
  if (!answer.problem.empty()) return fail(ErrorCode::io, Sentence(answer.problem));
  const std::string listed = joined(answer.devices, " ", &CudaDevice::uuid);
  if (answer.devices.size() == 1) return listed;
  return fail(ErrorCode::io, "CUDA shows: {}", listed.empty() ? "-" : listed);
}

// --- trying -----------------------------------------------------------------------------------

std::vector<Trial> trials_of_files(const std::vector<std::string>& folders, Clock& clock) {
  const std::string names = joined(
      folders, " ", [](const std::string& folder) { return folder.substr(0, folder.rfind('/')); });
  const auto in_all = [=](std::function<Result<void>(const std::string&)> attempt) {
    return [=]() -> Result<std::string> {
      if (folders.empty()) return fail(ErrorCode::io, "no folder could be written");
      auto done = in_each(folders, attempt);
      if (!done) return std::unexpected(std::move(done).error());
      return names;
    };
  };
  return {
      {"new_files", as_key("write a new file"),
       in_all([](const std::string& folder) { return write_new(folder + "/new"); })},
      {"move_files", as_key("move a file to another folder, as checkpoints are"),
       in_all(move_between)},
      {"link_files", as_key("link a file into another folder, as installers do"),
       in_all(link_between)},
      {"run_programs", as_key("run a program that was just written, as from a new environment"),
       in_all([&clock](const std::string& folder) { return run_new(folder, clock); })},
      {"workers", as_key("share memory with a worker, as data loaders do"), share_with_a_worker},
  };
}

Trial trial_of_closed(const IsolationPlan& plan) {
  return {"others_closed", as_key("be kept from the other devices' files"),
          [&plan] { return fail_to_open(plan.closed, plan.landlock >= version_with_ioctl); },
          false};
}

void add_trials_of_devices(std::vector<Trial>& trials, const Given& given,
                           const IsolationQuestion& question, Clock& clock) {
  if (given.device == nullptr) return;
  trials.push_back({"own_devices", as_key("open its own device's files"),
                    [&] { return open_own(given.plan); }, false});
  if (!given.plan.closed.empty()) trials.push_back(trial_of_closed(given.plan));
  trials.push_back({"nvml_count", as_key("see its own device alone through NVML"),
                    [&] { return count_by_nvml(question, *given.device, clock); }, false});
  trials.push_back({"cuda_count", as_key("see its own device alone through CUDA"),
                    [&] { return count_by_cuda(question, clock); }, false});
}

/// If CUDA works for nobody on this machine, nothing is said of what it shows inside.
Sentence why_cuda_says_nothing(const IsolationQuestion& question, Clock& clock) {
  const CudaAnswer answer = ask_cuda(question.cuda_library, clock, patience_of_one);
  if (answer.problem.empty() && !answer.devices.empty()) return {};
  return sentence("it does not work outside either: {}", answer.problem.empty()
                                                             ? sentence("CUDA shows: {}", "-")
                                                             : Sentence(answer.problem));
}

/// In a child: a line for each that was tried there, "name<TAB>yes or no<TAB>text".
std::vector<IsolationCheck> try_all(const std::vector<Trial>& trials, const IsolationPlan* plan,
                                    Clock& clock) {
  const auto answer = ask_child(
      [&] {
        if (plan != nullptr) {
          const auto restricted = restrict_to(*plan);
          if (!restricted) {
            (void)write_all(1, "restricted\tno\t" + printable(restricted.error().message()) + "\n");
            return 0;
          }
        }
        for (const Trial& trial : trials) {
          if (plan == nullptr && !trial.has_control) continue;
          const auto done = trial.attempt();
          (void)write_all(1, std::string(trial.name) + (done ? "\tyes\t" : "\tno\t") +
                                 printable(done ? *done : done.error().message()) + "\n");
        }
        return 0;
      },
      clock, patience);
  std::vector<IsolationCheck> checks;
  if (!answer) return checks;
  for (const std::string_view line : split(answer->out, '\n')) {
    const auto parts = split(line, '\t');
    if (parts.size() != 3) continue;
    checks.push_back({.answer = parts[1] == "yes" ? Answer::yes : Answer::no,
                      .name = std::string(parts[0]),
                      .detail = Sentence(parts[2])});
  }
  return checks;
}

const IsolationCheck* find_check(std::string_view name, const std::vector<IsolationCheck>& checks) {
  const auto found = std::ranges::find(checks, name, &IsolationCheck::name);
  return found == checks.end() ? nullptr : &*found;
}

IsolationCheck check_of(const Trial& trial, const std::vector<IsolationCheck>& outside,
                        const std::vector<IsolationCheck>& inside) {
  IsolationCheck check{.name = std::string(trial.name), .title = std::string(trial.title)};
  const IsolationCheck* control = find_check(trial.name, outside);
  const IsolationCheck* tried = find_check(trial.name, inside);
  if (control != nullptr && control->answer == Answer::no) {
    check.detail = sentence("it does not work outside either: {}", control->detail);
  } else if (tried == nullptr) {
    check.detail = sentence("the process that tried it ended early");
  } else {
    check.answer = tried->answer;
    check.detail = tried->detail;
  }
  return check;
}

}  // namespace

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::yes:
      return "yes";
    case Answer::no:
      return "no";
    case Answer::unknown:
      return "unknown";
  }
  return "unknown";
}

bool IsolationReport::is_well() const {
  return !checks.empty() && checks.front().answer == Answer::yes &&
         std::ranges::none_of(checks, [](const auto& one) { return one.answer == Answer::no; });
}

namespace {
/// In folders made for it, which go afterwards.
void try_jobs_acts(const IsolationQuestion& question, const Given& given, IsolationReport& report,
                   Clock& clock) {
  std::vector<ScratchDirectory> made;
  std::vector<std::string> folders;
  for (const std::string& folder : question.folders) {
    auto ours = ScratchDirectory::make(folder + "/.berth-isolate");
    if (!ours) continue;
    folders.push_back(ours->path());
    made.push_back(*std::move(ours));
  }
  std::vector<Trial> trials = trials_of_files(folders, clock);
  add_trials_of_devices(trials, given, question, clock);
  const auto outside = try_all(trials, nullptr, clock);
  const auto inside = try_all(trials, &given.plan, clock);
  for (const Trial& trial : trials) {
    report.checks.push_back(check_of(trial, outside, inside));
  }
}

/// A job without a device: each card is another's to it, also the only one of the machine.
void try_closed_files(const IsolationFacts& facts, IsolationReport& report, Clock& clock) {
  const auto none = plan_isolation({}, {}, facts);
  if (!none) return;
  const std::vector<Trial> trials = {trial_of_closed(*none)};
  const auto inside =
      none->closed.empty() ? std::vector<IsolationCheck>() : try_all(trials, &*none, clock);
  IsolationCheck check = check_of(trials.front(), {}, inside);
  if (none->closed.empty()) check.detail = sentence("no device file of a card is here");
  check.name = "all_closed";
  check.title = as_key("be kept from every device's files where it has none");
  report.checks.push_back(std::move(check));
}
}  // namespace

IsolationReport check_isolation(const IsolationQuestion& question, Clock& clock) {
  IsolationReport report;
  const IsolationFacts facts = gather_isolation_facts();
  IsolationCheck able{.answer = Answer::yes,
                      .name = "restricted",
                      .title = std::string(as_key("be restricted, by Landlock")),
                      .detail = sentence("version {}", facts.landlock)};
  if (means_of(facts) == by_systemd) {
    able.title = as_key("be restricted, by device rules of systemd");
    able.detail = Sentence::as_is(facts.systemd_run);
  }
  const auto tried = try_isolation(facts, clock);
  if (!tried) {
    able.answer = Answer::no;
    able.detail = tried.error().said();
  }
  report.checks.push_back(std::move(able));
  if (!tried) return report;
  if (means_of(facts) == by_systemd) {  // files are as outside of it
    if (const auto plan = plan_isolation({}, {}, facts)) report.costs = costs_of(*plan);
    return report;
  }
  Given given = first_that_can_be_given(question.snapshot, facts);
  if (given.device == nullptr) given.plan = plan_isolation({}, question.snapshot, facts).value();
  report.costs = costs_of(given.plan);
  try_jobs_acts(question, given, report, clock);
  try_closed_files(facts, report, clock);
  if (given.device == nullptr) {
    report.checks.push_back({.name = "own_devices",
                             .title = std::string(as_key("open its own device's files")),
                             .detail = given.why});
    return report;
  }
  const auto shown = std::ranges::find(report.checks, "cuda_count", &IsolationCheck::name);
  const Sentence no_cuda = why_cuda_says_nothing(question, clock);
  if (shown != report.checks.end() && !no_cuda.empty()) {
    shown->answer = Answer::unknown;
    shown->detail = no_cuda;
  }
  return report;
}

}  // namespace berth
