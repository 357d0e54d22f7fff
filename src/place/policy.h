#pragma once
// Policy: what the machine's administrator allows each user, written once (/etc/berth/berth.toml).
// Pure: config/policy_file.h reads it. Every reader applies it to the owner of a file, which nobody
// can forge. So what a ticket or a lease says of itself gains its writer nothing.

#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "place/request.h"
#include "snapshot/claim.h"

namespace berth {

/// In minutes since midnight, local time; "22:00-07:00" goes over midnight.
struct QuietHours {
  int from = 0;
  int to = 0;
  friend bool operator==(const QuietHours&, const QuietHours&) = default;
};
/// invalid: not two times of a day, or both the same.
[[nodiscard]] Result<QuietHours> parse_quiet_hours(std::string_view text);
[[nodiscard]] std::string typed(QuietHours hours);
[[nodiscard]] bool is_quiet(QuietHours hours, WallTime now, std::chrono::seconds local_offset);

/// A device that is held counts as idle once nothing was computed on it for so long.
inline constexpr std::chrono::milliseconds idle_after_by_itself = std::chrono::minutes(30);

/// What becomes of those who hold devices idle, by `berth reap` alone.
enum class IdleHolders { nothing, notify, end };
constexpr std::array<std::pair<IdleHolders, std::string_view>, 3> idle_holder_words = {{
    {IdleHolders::nothing, "nothing"},
    {IdleHolders::notify, "notify"},
    {IdleHolders::end, "end"},
}};

/// What one user may. Nothing: not limited, or not said.
struct UserRules {
  std::optional<Priority> highest_priority;  // nothing: Policy::highest_by_itself
  std::optional<std::vector<DevicePattern>> devices;
  std::optional<int> devices_at_most;  // at once, over all of the user's leases
  std::optional<int> hours_at_most;    // GPU-hours within 30 days
  std::optional<QuietHours> quiet_hours;
  std::optional<std::string> memory;  // of a job that does not say, as typed
  std::optional<std::string> time;
  std::optional<std::string> prefer;
  std::optional<int> jobs_per_device;  // no share of a device on which there are so many leases
  std::optional<std::chrono::milliseconds> idle_after;  // nothing: idle_after_by_itself
  std::optional<IdleHolders> idle_holders;              // nothing: IdleHolders::nothing
  friend bool operator==(const UserRules&, const UserRules&) = default;
};

/// A table of the file.
struct PolicyRule {
  enum class For { everybody, group, user } who = For::everybody;
  std::string name = {};  // of the group or the user, or a user's number
  UserRules rules = {};
  std::string origin = {};  // "/etc/berth/berth.toml:12"
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

/// Who a user is on this machine, by its own files.
struct PolicyUser {
  std::string name;
  std::vector<std::string> groups;
};

struct Policy {
  /// What a step of priority is worth, as waiting. `high` stands as if it had come that much
  /// earlier than `normal`, `low` that much later. So nobody is overtaken for ever.
  std::chrono::milliseconds priority_step = std::chrono::hours(12);
  /// The user of the most GPU-hours stands as if they had come so much later; all others in
  /// proportion to their hours. So nobody is overtaken by a ticket that came longer after theirs.
  /// 0: by coming alone.
  std::chrono::milliseconds fair_share{0};
  /// What `berth reap` tells the owner of an idle lease with: a program and its words, no shell.
  std::vector<std::string> notify = {};
  /// How long after that the lease is ended.
  std::chrono::milliseconds notice = std::chrono::hours(1);
  /// Where no rule says: `high` only where a ledger is one user's own.
  Priority highest_by_itself = Priority::normal;
  std::vector<PolicyRule> rules;  // in the order of the file
  std::string path = {};          // of the file; empty: there is none
  std::chrono::seconds local_offset{0};
  /// GPU-hours of each user within the last 30 days, written by root's `berth serve`. Nothing:
  /// nobody writes them, and hours cannot be held.
  std::optional<std::map<uid_t, double>> hours_used = {};
  /// Null: users are known by their numbers alone.
  std::function<PolicyUser(uid_t)> who = {};

  /// Each member by the user's own table. Else by their first group in the file that has it, else
  /// by `everybody`.
  [[nodiscard]] const UserRules& of(uid_t uid) const;
  [[nodiscard]] Priority highest_priority(uid_t uid) const;
  /// What it counts as, whatever was asked.
  [[nodiscard]] Priority counted(Priority asked, uid_t uid) const;
  /// So much later a ticket of that user stands for what they have used (fair_share).
  [[nodiscard]] std::chrono::milliseconds later_by_use(uid_t uid) const;

  mutable std::map<uid_t, UserRules> known = {};  // what of() found already
};

/// The same for a user who is known already: pure.
[[nodiscard]] UserRules rules_for(const Policy& policy, uid_t uid, const PolicyUser& user);

}  // namespace berth
