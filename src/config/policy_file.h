#pragma once
// The administrator's policy, /etc/berth/berth.toml, as place/policy.h has it. An error in it stops
// every claim, so that no rule is lost to a slip. Nothing here goes on with a part of it.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "place/policy.h"
#include "snapshot/snapshot.h"

namespace berth {

/// invalid: the first mistake, with its line and the nearest right word.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, const std::string& path);

struct PolicyPlaces {
  std::string file;  // "/etc/berth/berth.toml"
  uid_t owner = 0;   // whose it has to be
  std::string passwd = "/etc/passwd";
  std::string group = "/etc/group";
  std::string hours = "/var/lib/berth/hours";  // what root's `berth serve` writes down
  std::string told = "/var/lib/berth/told";    // whom root's `berth reap` has told
  std::optional<WallTime> now = {};            // nothing: no hours are believed
};

/// Writes the whole file in one step, readable by all, its folder made where it is missing.
[[nodiscard]] Result<void> put_in_place(const std::string& text, const std::string& path);

/// So old the hours written down may be.
constexpr std::chrono::milliseconds hours_last = std::chrono::hours(1);
/// Whether it has rules that count hours.
[[nodiscard]] bool needs_hours(const Policy& policy);
/// As read_policy() reads them.
[[nodiscard]] Result<void> write_hours(const std::map<uid_t, double>& hours, WallTime taken,
                                       const std::string& path);

/// A sentence for each table of a user or group that this machine's own files lack. It may be a
/// slip, or a directory service's.
[[nodiscard]] std::vector<Sentence> remarks_on(const Policy& policy, const PolicyPlaces& places);

/// Where the program that is to tell owners cannot be run here.
[[nodiscard]] std::optional<Sentence> remark_on_notify(const Policy& policy);
/// Entries that name a device, a memory or a program that this server does not have. They may be
/// meant for another server, or be a slip.
[[nodiscard]] std::vector<Sentence> remarks_on(const Policy& policy, const Snapshot& snapshot);

/// no_permission: not the owner's, or others can write it. A policy without a path: there is none.
[[nodiscard]] Result<Policy> read_policy(const PolicyPlaces& places);

/// Who a user is by the machine's own files.
[[nodiscard]] PolicyUser policy_user(uid_t uid, const PolicyPlaces& places);

/// A file that is not in force.
[[nodiscard]] Result<Policy> check_policy(const std::string& path);
/// Checks a file and puts it in the place of the one in force, in one step.
[[nodiscard]] Result<Policy> install_policy(const std::string& from, const PolicyPlaces& places);

}  // namespace berth
