#pragma once
// The policy in plain words, and what it says of one request.

#include <string>

#include "place/job_spec.h"
#include "place/policy.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

[[nodiscard]] std::string render_policy(const Policy& policy, const Style& style);
/// The rules for one user, a sentence each.
[[nodiscard]] std::vector<std::string> sentences_of(const UserRules& rules, const Policy& policy);
/// The result if the user asked for that now. `is_known`: the machine's own files have the user.
[[nodiscard]] std::string render_policy_test(const Policy& policy, uid_t uid,
                                             const PolicyUser& user, const JobSpec& job,
                                             const Snapshot& snapshot, const Style& style);

}  // namespace berth
