#include "run/kernel_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"

namespace berth {

namespace {

/// The service looks each second, and a driver takes its time to start.
constexpr Duration patience_for_an_answer = std::chrono::seconds(8);
constexpr Duration between_answers = std::chrono::milliseconds(20);
constexpr std::size_t longest_list = 1 << 16;
constexpr std::string_view group_name = "/berth-";  // and "limit-XXXXXXXX"

std::optional<AskedLimit> limit_called(const PlannedPlace& place, const std::string& id) {
  const auto all = place.limits();
  if (!all) return std::nullopt;
  const auto found = std::ranges::find(*all, id, &AskedLimit::id);
  return found == all->end() ? std::nullopt : std::optional(*found);
}

Result<void> await_answer(const PlannedPlace& place, const std::string& id, Clock& clock) {
  const Instant end = clock.now() + patience_for_an_answer;
  while (clock.now() < end) {
    const auto one = limit_called(place, id);
    if (one && one->is_answered && !one->text.failed.empty()) {
      return fail(ErrorCode::unsupported, Sentence(one->text.failed));
    }
    if (one && one->is_answered && one->text.is_held) return {};
    clock.wait_until(clock.now() + between_answers);
  }
  (void)place.remove(id);
  return fail(ErrorCode::timeout, "root's `berth serve` did not set one in time");
}

// ------------------------------------------------------------------------------------ the service

/// Nothing: there is none, or who is in it cannot be told.
std::optional<std::vector<pid_t>> processes_in(const std::string& group) {
  const auto text = read_file(group + "/cgroup.procs", longest_list);
  if (!text) return std::nullopt;
  std::vector<pid_t> pids;
  for (const std::string_view line : split(*text, '\n')) {
    if (const auto pid = parse_unsigned(line)) pids.push_back(static_cast<pid_t>(*pid));
  }
  return pids;
}

/// Groups that a job made within count, too.
bool is_inhabited(const std::string& group) {
  const auto text = read_file(group + "/cgroup.events", longest_list);
  return text && text->find("populated 1") != text->npos;
}

Result<void> move_into(const std::string& group, pid_t pid) {
  const auto list = open_fd(group + "/cgroup.procs", O_WRONLY);
  if (!list) return std::unexpected(list.error());
  return write_all(list->get(), std::to_string(pid));
}

bool is_the_same(ProcessId process) {
  const auto now = identify_process(process.pid);
  return now && *now == process;
}

/// It is who it says, and has no right but its user's: a program that is setuid has others.
bool is_of(ProcessId process, uid_t uid) {
  const auto status = read_proc_file("/proc/" + std::to_string(process.pid) + "/status");
  if (!status || !is_the_same(process)) return false;
  const std::string one = std::to_string(uid);
  const std::string line = "\nUid:\t" + one + "\t" + one + "\t" + one + "\t" + one + "\n";
  return status->find(line) != status->npos;
}

class LimitKeeper {
 public:
  LimitKeeper(const LimitDriver& driver, const PlannedPlace& place, AskedLimit asked)
      : driver_(driver), place_(place), asked_(std::move(asked)) {}

  Result<void> set() {
    if (!is_of(asked_.text.process, asked_.uid)) {
      return fail(ErrorCode::no_permission,
                  "the process that asks is not its user's, or has ended");
    }
    auto groups = driver_.groups_of(asked_.text.process.pid);
    if (groups.empty()) {
      return fail(ErrorCode::unsupported, "the job's control group is not of version 2");
    }
    const auto before = its_earlier_one(groups.front());
    if (before) groups.erase(groups.begin());
    if (!before && asked_.text.limits.empty()) return fail(ErrorCode::not_found, "it has no limit");
    const auto limits = driver_.limits_of(groups);
    // Limits of the driver's own need not nest: one of its own would free it from a scheduler's.
    if (limits) {
      return fail(ErrorCode::busy, "a limit is set for its control group already");
    }
    if (limits.error().code() != ErrorCode::not_found) return std::unexpected(limits.error());
    if (before) return set_anew(*before);
    asked_.text.group = groups.front() + std::string(group_name) + asked_.id;
    // This comes first, so that the group is found again whatever is killed.
    if (auto noted = answer(); !noted) return noted;
    if (::mkdir(asked_.text.group.c_str(), 0755) != 0) {
      const int why = errno;
      asked_.text.group.clear();
      return fail_system(why, "make a control group below {}", groups.front());
    }
    auto held = move_and_hold();
    if (held) return hold();
    undo(groups.front());
    return held;
  }

  void take_off() {
    LimitDriver::NewLimits none;
    for (const auto& [uuid, bytes] : asked_.text.limits) none.emplace(uuid, std::nullopt);
    (void)driver_.set(asked_.text.group, none);
    if (::rmdir(asked_.text.group.c_str()) == 0 || errno == ENOENT) (void)place_.remove(asked_.id);
  }

  Result<void> refuse(const Error& why) {
    asked_.text.failed = why.message();
    return answer();
  }

 private:
  /// Of a follower that starts the job again. A process merely inside of another's limit does not
  /// know its name.
  [[nodiscard]] std::optional<AskedLimit> its_earlier_one(const std::string& group) const {
    auto one = limit_called(place_, asked_.text.instead_of);
    const bool is_its = one && one->text.is_held && one->text.group == group;
    return is_its && one->uid == asked_.uid ? std::move(one) : std::nullopt;
  }

  Result<void> set_anew(const AskedLimit& before) {
    LimitDriver::NewLimits limits;
    for (const auto& [uuid, bytes] : before.text.limits) limits.emplace(uuid, std::nullopt);
    for (const auto& [uuid, bytes] : asked_.text.limits) limits.insert_or_assign(uuid, bytes);
    asked_.text.group = before.text.group;
    if (auto set = driver_.set(asked_.text.group, limits); !set) {
      return set;
    }
    if (auto held = hold(); !held) return held;
    return place_.remove(before.id);
  }

  Result<void> move_and_hold() {
    const pid_t pid = asked_.text.process.pid;
    if (auto moved = move_into(asked_.text.group, pid); !moved) return moved;
    // It may have ended before it was moved, and another have got its number.
    const auto inside = processes_in(asked_.text.group);
    const bool is_alone = inside && inside->size() == 1 && inside->front() == pid;
    if (!is_alone || !is_of(asked_.text.process, asked_.uid)) {
      return fail(ErrorCode::no_permission, "it has ended, or started others meanwhile");
    }
    LimitDriver::NewLimits limits;
    for (const auto& [uuid, bytes] : asked_.text.limits) limits.emplace(uuid, bytes);
    return driver_.set(asked_.text.group, limits);
  }

  void undo(const std::string& above) {
    for (const pid_t pid : processes_in(asked_.text.group).value_or(std::vector<pid_t>())) {
      (void)move_into(above, pid);
    }
    (void)::rmdir(asked_.text.group.c_str());
    if (!is_there(asked_.text.group)) asked_.text.group.clear();
  }

  Result<void> hold() {
    asked_.text.is_held = true;
    return answer();
  }

  Result<void> answer() {
    asked_.text.uid = asked_.uid;
    return place_.change(asked_.id, asked_.text);
  }

  const LimitDriver& driver_;
  const PlannedPlace& place_;
  AskedLimit asked_;
};

}  // namespace

std::function<Result<void>(const std::map<std::string, Bytes>&)> kernel_limit_setter(
    const LedgerPlace& ledger, uid_t root, Clock& clock) {
  const auto place = PlannedPlace::open(ledger, root);
  if (!place || !place->is_kept()) return nullptr;
  // A child that starts the job again has it from its parent.
  return [ledger, root, &clock, earlier = std::string()](
             const std::map<std::string, Bytes>& limits) mutable -> Result<void> {
    if (limits.empty() && earlier.empty()) return {};
    const auto here = PlannedPlace::open(ledger, root);
    if (!here) return std::unexpected(here.error());
    const auto id =
        here->add(LimitText{.process = own_process_id(), .limits = limits, .instead_of = earlier});
    if (!id) return std::unexpected(id.error());
    auto held = await_answer(*here, *id, clock);
    if (held) earlier = *id;
    return held;
  };
}

std::vector<std::string> limits_to_see_to(const PlannedPlace& place) {
  std::vector<std::string> due;
  const auto all = place.limits();
  for (const AskedLimit& one : all ? *all : std::vector<AskedLimit>()) {
    if (!one.text.group.empty()) {
      if (!is_inhabited(one.text.group)) due.push_back(one.id);
    } else if (!is_the_same(one.text.process)) {
      (void)place.remove(one.id);
    } else if (!one.is_answered) {
      due.push_back(one.id);
    }
  }
  return due;
}

Result<void> see_to_limit(const PlannedPlace& place, const std::string& id,
                          const LimitDriver& driver) {
  const auto asked = limit_called(place, id);
  if (!asked) return {};  // who asked took it back
  LimitKeeper keeper(driver, place, *asked);
  if (asked->is_answered) {
    if (!asked->text.group.empty() && !is_inhabited(asked->text.group)) keeper.take_off();
    return {};
  }
  if (const auto set = keeper.set(); !set) return keeper.refuse(set.error());
  return {};
}

}  // namespace berth
