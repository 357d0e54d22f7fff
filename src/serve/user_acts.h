#pragma once
// What `berth serve` does to processes on a user's request, with no more rights than that user has.
// As root it acts in a child that has become the user.

#include <optional>
#include <string>

#include "serve/alert_command.h"
#include "serve/api.h"

namespace berth::serve {

class UserActs final : public Acts {
 public:
  /// `state_directory`: where this user's own runs are recorded.
  explicit UserActs(std::optional<std::string> state_directory)
      : state_directory_(std::move(state_directory)) {}

  [[nodiscard]] Result<std::string> release(const Claim& claim,
                                            std::optional<uid_t> uid) const override;
  [[nodiscard]] Result<void> signal(ProcessId process, int number,
                                    std::optional<uid_t> uid) const override;
  /// Runs the command in a child that has become that user; never as root: then as nobody.
  [[nodiscard]] Result<void> tell(const AlertCommand& command, uid_t uid) const;

 private:
  std::optional<std::string> state_directory_;
};

}  // namespace berth::serve
