#include "serve/policy.h"

#include <algorithm>
#include <map>

namespace berth::serve {

namespace {

void hide_user(Reading<std::string>& user) { user = Absent::no_permission; }

void narrow(HostProcess& process, Insight insight) {
  if (insight == Insight::whole) return;
  process.container = Absent::no_permission;
  process.enclosure.reset();
  if (insight == Insight::commands) return;
  process.command = Absent::no_permission;
  process.executable_name = Absent::no_permission;
  if (insight == Insight::names) return;
  process.uid = Absent::no_permission;
  hide_user(process.user);
}

template <class ClaimOrWaiter>
void narrow(ClaimOrWaiter& promise, Insight insight) {
  if (insight == Insight::whole || insight == Insight::commands) return;
  promise.command.clear();
  if (insight == Insight::names) return;
  promise.user.clear();
  // No uid at all has no room in a claim: -1 is the system's own word for "none".
  promise.uid = static_cast<uid_t>(-1);
}

/// The driver names a process by its command.
void narrow_xids(Snapshot& snapshot, const std::map<pid_t, Insight>& insights) {
  if (!snapshot.xids.get()) return;
  std::vector<XidEvent> events = *snapshot.xids.get();
  for (XidEvent& event : events) {
    const auto known =
        event.pid.get() ? insights.find(static_cast<pid_t>(*event.pid.get())) : insights.end();
    const bool shown = known != insights.end() && known->second >= Insight::commands;
    if (!shown && event.process.get()) event.process = Absent::no_permission;
  }
  snapshot.xids = std::move(events);
}

}  // namespace

std::optional<Policy::Others> others_from_name(std::string_view name) {
  if (name == "owner") return Policy::Others::owner;
  if (name == "public") return Policy::Others::open;
  if (name == "group") return Policy::Others::group;
  return std::nullopt;
}

Insight insight(const Asker& asker, std::optional<uid_t> owner, const Policy& policy,
                const GroupBook& book) {
  if (asker.admin || (owner && asker.is(*owner))) return Insight::whole;
  if (policy.others == Policy::Others::owner) return Insight::numbers;
  if (policy.commands_are_open && asker.is_on_this_machine()) return Insight::commands;
  const bool is_of_his_group = policy.others == Policy::Others::group && owner && asker.uid &&
                               book.share_group(*asker.uid, *owner);
  return is_of_his_group ? Insight::commands : Insight::names;
}

std::string_view word_for_sight(const Asker& asker, const Policy& policy) {
  if (!asker.is_known()) return "public";
  return policy.others == Policy::Others::group && !asker.admin ? "group" : "owner";
}

bool may_act_for(const Asker& asker, std::optional<uid_t> owner) {
  return asker.admin || (owner && asker.is(*owner));
}

Snapshot visible_part(Snapshot snapshot, const Asker& asker, const Policy& policy,
                      const GroupBook& book) {
  if (asker.admin) return snapshot;
  std::map<pid_t, Insight> insights;
  for (HostProcess& process : snapshot.processes) {
    const Insight seen = insight(asker, process.uid.get(), policy, book);
    insights[process.id.pid] = seen;
    narrow(process, seen);
  }
  for (Claim& claim : snapshot.claims) narrow(claim, insight(asker, claim.uid, policy, book));
  for (Waiter& waiter : snapshot.waiters) narrow(waiter, insight(asker, waiter.uid, policy, book));
  narrow_xids(snapshot, insights);
  // Whose descriptors these are is not known.
  if (snapshot.device_files.get()) snapshot.device_files = Absent::no_permission;
  for (Problem& problem : snapshot.problems) {
    problem.message = without_private_paths(problem.message);
    problem.remedy = without_private_paths(problem.remedy);
  }
  return snapshot;
}

RunRecord visible_part(const RunRecord& run, Insight insight) {
  RunRecord shown;
  shown.owner = run.owner;
  shown.state = run.state;
  if (insight < Insight::names) return shown;
  const Manifest& all = run.manifest;
  shown.end = run.end;
  shown.manifest = {.id = all.id,
                    .started = all.started,
                    .uid = all.uid,
                    .user = all.user,
                    .lease = all.lease,
                    .retry_of = all.retry_of,
                    .wanted = all.wanted,
                    .devices_wanted = all.devices_wanted,
                    .cpu_only = all.cpu_only,
                    .waiting = all.waiting,
                    .waited_ms = all.waited_ms,
                    .given = all.given,
                    .promised = all.promised};
  if (insight >= Insight::commands) shown.manifest.command = all.command;
  return shown;
}

std::string without_private_paths(std::string_view text) {
  constexpr std::string_view system_roots[] = {"/dev/", "/proc", "/sys/",
                                               "/usr/", "/lib",  "/run/berth"};
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    // A path begins where no word does: "and/or" is none.
    const bool begins =
        text[i] == '/' && i + 1 < text.size() && text[i + 1] != ' ' &&
        (i == 0 || std::string_view(" \"'(=:").find(text[i - 1]) != std::string_view::npos);
    if (!begins) {
      shown += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \"'),;", i), text.size());
    const std::string_view path = text.substr(i, end - i);
    const bool is_of_system =
        std::any_of(std::begin(system_roots), std::end(system_roots),
                    [&](std::string_view root) { return path.starts_with(root); });
    shown += is_of_system ? path : std::string_view("…");
    i = end;
  }
  return shown;
}

}  // namespace berth::serve
