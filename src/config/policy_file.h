#pragma once
// The administrator's policy, /etc/berth/berth.toml, as place/policy.h has it. What is wrong in it
// stops every claim, so that no rule is lost to a slip: nothing here goes on with a part of it.

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "place/policy.h"

namespace berth {

/// One line of a table [everybody], [group.NAME] or [user.NAME].
struct PolicyKey {
  std::string_view name;
  std::string_view form;  // of its value: "LIST"
  std::string_view help;  // goes through tr()
  /// invalid: says what is wrong with the text, not where it stands.
  Result<void> (*parse)(std::string_view text, UserRules& rules);
};
[[nodiscard]] std::span<const PolicyKey> policy_keys();

/// invalid: the first mistake, with its line and the nearest right word.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, const std::string& path);

struct PolicyPlaces {
  std::string file;  // "/etc/berth/berth.toml"
  uid_t owner = 0;   // whose it has to be
  std::string passwd = "/etc/passwd";
  std::string group = "/etc/group";
  std::string hours = "/var/lib/berth/hours";  // what root's `berth serve` writes down
};

/// no_permission: not the owner's, or others can write it. A policy without a path: there is none.
[[nodiscard]] Result<Policy> read_policy(const PolicyPlaces& places);

/// Who a user is by the machine's own files.
[[nodiscard]] PolicyUser policy_user(uid_t uid, const PolicyPlaces& places);

/// Checks a file and puts it in the place of the one in force, in one step.
[[nodiscard]] Result<Policy> install_policy(const std::string& from, const PolicyPlaces& places);

}  // namespace berth
