#include "serve/visibility.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/member_count.h"
#include "base/sentence.h"

namespace berth::serve {

namespace {

/// A further member is seen by all who see the rest, unless it is taken away below.
static_assert(all_counted<Members<Snapshot, 14>, Members<GpuProcess, 12>, Members<HostProcess, 15>,
                          Members<Claim, 14>, Members<Waiter, 15>, Members<XidEvent, 7>>);

void hide_user(Reading<std::string>& user) { user = Absent::no_permission; }

void narrow(HostProcess& process, AccessLevel access_level, const Visibility& visibility) {
  if (access_level == AccessLevel::whole) return;
  if (visibility.pods_are_open && process.enclosure && process.enclosure->pod_uid) {
    process.enclosure->image = Absent::no_permission;
  } else {
    process.container = Absent::no_permission;
    process.enclosure.reset();
  }
  if (access_level == AccessLevel::commands) return;
  process.command = Absent::no_permission;
  process.executable_name = Absent::no_permission;
  if (access_level == AccessLevel::names) return;
  process.uid = Absent::no_permission;
  hide_user(process.user);
}

template <class ClaimOrWaiter>
void narrow(ClaimOrWaiter& promise, AccessLevel access_level) {
  if (access_level == AccessLevel::whole) return;
  if constexpr (requires { promise.container; }) promise.container.clear();
  if (access_level == AccessLevel::commands) return;
  promise.command.clear();
  if (access_level == AccessLevel::names) return;
  promise.user.clear();
  // No uid at all has no room in a claim: -1 is the system's own word for "none".
  promise.uid = static_cast<uid_t>(-1);
}

/// The driver names a process by its command.
void narrow_xids(Snapshot& snapshot, const std::map<pid_t, AccessLevel>& levels) {
  if (!snapshot.xids.get()) return;
  std::vector<XidEvent> events = *snapshot.xids.get();
  for (XidEvent& event : events) {
    const auto known =
        event.pid.get() ? levels.find(static_cast<pid_t>(*event.pid.get())) : levels.end();
    const bool shown = known != levels.end() && known->second >= AccessLevel::commands;
    if (!shown && event.process.get()) event.process = Absent::no_permission;
  }
  snapshot.xids = std::move(events);
}

}  // namespace

std::optional<Visibility::Others> others_from_name(std::string_view name) {
  if (name == "owner") return Visibility::Others::owner;
  if (name == "public") return Visibility::Others::open;
  if (name == "group") return Visibility::Others::group;
  return std::nullopt;
}

AccessLevel access_level(const Principal& principal, std::optional<uid_t> owner,
                         const Visibility& visibility, const GroupBook& book) {
  if (principal.admin || (owner && principal.is(*owner))) return AccessLevel::whole;
  if (visibility.others == Visibility::Others::owner) return AccessLevel::numbers;
  if (visibility.commands_are_open && principal.is_on_this_machine()) return AccessLevel::commands;
  const bool is_of_his_group = visibility.others == Visibility::Others::group && owner &&
                               principal.uid && book.share_group(*principal.uid, *owner);
  return is_of_his_group ? AccessLevel::commands : AccessLevel::names;
}

std::string_view word_for_what_is_seen(const Principal& principal, const Visibility& visibility) {
  if (!principal.is_known()) return "public";
  return visibility.others == Visibility::Others::group && !principal.admin ? "group" : "owner";
}

bool may_act_for(const Principal& principal, std::optional<uid_t> owner) {
  return principal.admin || (owner && principal.is(*owner));
}

Snapshot visible_part(Snapshot snapshot, const Principal& principal, const Visibility& visibility,
                      const GroupBook& book) {
  if (principal.admin) return snapshot;
  std::map<pid_t, AccessLevel> levels;
  for (HostProcess& process : snapshot.processes) {
    const AccessLevel seen = access_level(principal, process.uid.get(), visibility, book);
    levels[process.id.pid] = seen;
    narrow(process, seen, visibility);
  }
  for (Claim& claim : snapshot.claims)
    narrow(claim, access_level(principal, claim.uid, visibility, book));
  for (Waiter& waiter : snapshot.waiters)
    narrow(waiter, access_level(principal, waiter.uid, visibility, book));
  narrow_xids(snapshot, levels);
  // Whose descriptors these are is not known.
  if (snapshot.device_files.get()) snapshot.device_files = Absent::no_permission;
  for (Problem& problem : snapshot.problems) {
    problem.message = Sentence(without_private_paths(problem.message.english()));
    problem.remedy = Sentence(without_private_paths(problem.remedy.english()));
  }
  return snapshot;
}

RunRecord visible_part(const RunRecord& run, AccessLevel access_level) {
  RunRecord shown;
  shown.owner = run.owner;
  shown.state = run.state;
  if (access_level < AccessLevel::names) return shown;
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
                    .promised = all.promised,
                    .cap = all.cap};
  if (shown.manifest.cap) shown.manifest.cap->leave_out_private();
  if (access_level >= AccessLevel::commands) shown.manifest.command = all.command;
  return shown;
}

std::string without_private_paths(std::string_view text) {
  constexpr std::string_view system_roots[] = {"/dev", "/proc",  "/sys",      "/usr",
                                               "/lib", "/lib64", "/run/berth"};
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    // A path begins where no word goes on: "and/or" is none.
    const bool begins = text[i] == '/' && i + 1 < text.size() && text[i + 1] != ' ' &&
                        (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
    if (!begins) {
      shown += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \"'),;", i), text.size());
    const std::string_view path = text.substr(i, end - i);
    const bool is_of_system =
        std::any_of(std::begin(system_roots), std::end(system_roots), [&](std::string_view root) {
          return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
        });
    shown += is_of_system ? path : std::string_view("…");
    i = end;
  }
  return shown;
}

std::shared_ptr<const Snapshot> ViewCache::of(const Principal& principal) {
  if (principal.admin) return look_;
  const std::string key = principal.view_key();
  const std::scoped_lock lock(mutex_);
  if (const auto had = kept_.find(key); had != kept_.end()) return had->second;
  auto made =
      std::make_shared<const Snapshot>(visible_part(*look_, principal, visibility_, *book_));
  if (kept_.size() < most_kept) kept_.emplace(key, made);
  return made;
}

}  // namespace berth::serve
