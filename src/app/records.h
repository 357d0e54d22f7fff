#pragma once
// What the verbs that name a run share: finding it and noticing Ctrl-C.

#include <csignal>
#include <string>

#include "app/context.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth {

/// The run named on the command line; empty: "last". The error says where it was looked for.
[[nodiscard]] Result<RunRecord> find_run(const Context& context, const std::string& name);

/// While it lives, SIGINT and SIGTERM are noted instead of ending the program.
class InterruptNote {
 public:
  InterruptNote();
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;
  /// 0: nothing came; else the signal's number.
  [[nodiscard]] static int signal();

 private:
  struct sigaction before_int_{};
  struct sigaction before_term_{};
};

}  // namespace berth
