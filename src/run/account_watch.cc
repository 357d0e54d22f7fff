#include "run/account_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fd.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "guard/cap_proof.h"

namespace berth {

namespace {

/// The driver's list and the account are not read at one moment.
constexpr int looks_until_sure = 3;
/// A process stuck in the kernel must not stop the sampler.
constexpr Duration maps_patience = std::chrono::milliseconds(500);

/// "pid:[4026531836]"; 0: it may not be seen.
std::uint64_t pid_namespace_of(const std::string& folder) {
  const auto link = read_link(folder + "/ns/pid");
  if (!link || !link->starts_with("pid:[") || !link->ends_with(']')) return 0;
  return parse_unsigned(std::string_view(*link).substr(5, link->size() - 6)).value_or(0);
}

/// Its last thread has ended, so that the driver has its memory back.
bool has_ended(const ProcessStat& stat, const std::string& proc) {
  if (stat.state != 'Z' && stat.state != 'X') return false;
  const auto threads = list_directory(fmt::format("{}/{}/task", proc, stat.id.pid));
  return !threads || threads->size() <= 1;
}

}  // namespace

std::optional<InnerName> inner_name_of(pid_t pid, const std::string& proc) {
  const std::string folder = fmt::format("{}/{}", proc, pid);
  const auto status = read_proc_file(folder + "/status");
  if (!status) return std::nullopt;
  constexpr std::string_view key = "NSpid:";
  for (const std::string_view line : split(*status, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::string_view last = line.substr(line.find_last_of("\t ") + 1);
    const auto inner = parse_unsigned(last);
    if (!inner) return std::nullopt;
    // A single number means the namespace of this /proc, which is ours. Only root may read the
    // namespace of process 1.
    const bool is_here = line.find_first_of("\t ") == line.find_last_of("\t ");
    return InnerName{.pid_namespace = pid_namespace_of(is_here ? proc + "/self" : folder),
                     .pid = *inner};
  }
  return std::nullopt;
}

AccountWatch::Owner AccountWatch::owner_of(const Slot& slot) {
  if (slot.pid_namespace == 0) return Owner::unknown;
  if (slot.pid_namespace != pid_namespace_of(proc_ + "/self")) {
    return owner_in_another_namespace(slot);
  }
  const auto pid = static_cast<pid_t>(slot.pid);
  const auto stat = read_process_stat(pid, proc_);
  if (!stat) {
    // If /proc hides others, a process that changed its user is still there.
    const auto there = open_pidfd(pid);
    return !there && there.error().code() == ErrorCode::not_found ? Owner::gone : Owner::unknown;
  }
  if (stat->id.start_ticks != slot.start_time || has_ended(*stat, proc_)) return Owner::gone;
  owners_[slot.number] = pid;
  return Owner::lives;
}

/// It is below ours: nobody enters one that is above. So each process there has a number here.
AccountWatch::Owner AccountWatch::owner_in_another_namespace(const Slot& slot) {
  const auto is_owner = [&](pid_t pid) {
    const auto name = inner_name_of(pid, proc_);
    if (!name || name->pid != slot.pid) return Owner::gone;
    // The namespace of a process that has ended may not be read, not even by root.
    const auto stat = read_process_stat(pid, proc_);
    if (!stat || has_ended(*stat, proc_)) return Owner::gone;
    if (name->pid_namespace == 0) return Owner::unknown;
    return name->pid_namespace == slot.pid_namespace ? Owner::lives : Owner::gone;
  };
  const auto known = owners_.find(slot.number);
  if (known != owners_.end() && is_owner(known->second) == Owner::lives) return Owner::lives;
  owners_.erase(slot.number);
  const auto pids = pids_in(proc_);
  if (!pids) return Owner::unknown;
  Owner found = Owner::gone;
  for (const pid_t pid : *pids) {
    const Owner owner = is_owner(pid);
    if (owner == Owner::gone) continue;
    found = owner;
    if (owner == Owner::unknown) continue;
    owners_[slot.number] = pid;
    break;
  }
  return found;
}

/// It has not mapped the account: what its slot has was charged before an exec.
bool AccountWatch::is_another_program(AccountFile& account, const Slot& slot, Clock& clock) {
  const auto owner = owners_.find(slot.number);
  const std::string name = account.name_in_maps(proc_);
  if (owner == owners_.end() || name.empty()) return false;
  const auto answer = ask_child(
      [&] {
        constexpr std::size_t longest = 64 << 20;
        const auto maps = read_file(fmt::format("{}/{}/maps", proc_, owner->second), longest);
        if (!maps || maps->empty()) return 1;  // its end is another question
        return write_all(1, maps->find(name) != maps->npos ? "mapped" : "absent") ? 0 : 1;
      },
      clock, maps_patience);
  return answer && answer->exit == Exit{} && answer->out == "absent";
}

std::optional<Uncounted> AccountWatch::find_uncounted(const std::vector<Slot>& slots,
                                                      const std::vector<ProcessSample>& own) {
  std::map<std::pair<pid_t, std::size_t>, int> above;
  std::optional<Uncounted> sure;
  for (const ProcessSample& process : own) {
    const auto& measured = process.memory.get();
    const auto name = inner_name_of(process.pid, proc_);
    if (!measured || !name) continue;
    Bytes counted{0};
    for (const Slot& slot : slots) {
      const bool is_its = slot.pid == name->pid &&
                          (slot.pid_namespace == name->pid_namespace || name->pid_namespace == 0);
      if (is_its && process.device < slot.charged.size()) counted += slot.charged[process.device];
    }
    if (!is_far_above(*measured, counted)) continue;
    const std::pair key(process.pid, process.device);
    const auto before = above_.find(key);
    above[key] = before == above_.end() ? 1 : before->second + 1;
    if (above[key] >= looks_until_sure && !sure) {
      sure = Uncounted{.pid = process.pid, .device = process.device, .measured = *measured};
    }
  }
  above_ = std::move(above);
  return sure;
}

std::optional<Uncounted> AccountWatch::look(AccountFile& account,
                                            const std::vector<ProcessSample>& own, Clock& clock) {
  const auto slots = account.slots();
  if (!slots) return std::nullopt;
  const auto uncounted = find_uncounted(*slots, own);
  for (const Slot& slot : *slots) {
    const Owner owner = owner_of(slot);
    if (owner == Owner::gone) {
      (void)account.give_back(slot, [&] { return owner_of(slot) == Owner::gone; });
    }
    const bool is_on_a_device =
        owner == Owner::lives &&
        std::ranges::find(own, owners_[slot.number], &ProcessSample::pid) != own.end();
    if (owner != Owner::lives || is_on_a_device || slot.sum() == Bytes(0)) {
      idle_.erase(slot.number);
    } else if (++idle_[slot.number] % looks_until_sure == 0 &&
               is_another_program(account, slot, clock)) {
      (void)account.give_back(slot, [&] { return is_another_program(account, slot, clock); });
    }
  }
  return uncounted;
}

}  // namespace berth
