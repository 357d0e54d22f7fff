#pragma once
// The options of `berth run`, and the RunOptions they make.

#include <string>
#include <vector>

#include "app/request_options.h"
#include "app/run_words.h"
#include "app/verb.h"
#include "run/run.h"

namespace berth {

class RunFlags {
 public:
  void declare(Options& options);

  /// Everything but the inherited limits. The error names the option.
  [[nodiscard]] Result<RunOptions> options(const Context& context,
                                           const std::vector<std::string>& command) const;

  [[nodiscard]] bool dry_run() const { return request_.dry_run(); }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] Talk talk() const {
    return quiet_ ? Talk::quiet : verbose_ ? Talk::verbose : Talk::normal;
  }

 private:
  RequestOptions request_;
  std::string log_;
  bool json_ = false;
  bool uuids_ = false;
  bool detach_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
};

}  // namespace berth
