#pragma once
// KeptPolicy: the policy as it is now, for a program that asks often. It is read again where its
// file has changed. It is also read again each minute, for the hours used and the local time.

#include <chrono>
#include <memory>
#include <string>

#include "config/policy_file.h"

namespace berth {

class KeptPolicy {
 public:
  /// Null: there is no file. Else as read_policy(). Forgets what it had where that fails.
  [[nodiscard]] Result<std::shared_ptr<const Policy>> read(const PolicyPlaces& places,
                                                           std::chrono::seconds local_offset);

 private:
  std::shared_ptr<const Policy> policy_;
  std::string stamp_;  // of the file that it was read from
};

}  // namespace berth
