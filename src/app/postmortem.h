#pragma once
// What is at hand of a finished run when somebody asks why it died: gathered here, judged by
// diagnose/.

#include <memory>
#include <optional>
#include <string>

#include "app/context.h"
#include "diagnose/postmortem/postmortem.h"

namespace berth {

/// A run's evidence and what it refers to.
struct GatheredPostmortem {
  std::unique_ptr<LogText> log;
  std::string log_path;    // empty: there is none
  std::string why_no_log;  // translated; empty: there is one, or the run was not detached
  PostmortemEvidence evidence;
};
enum class Gather { all, without_log, without_kernel_log };
/// `run` outlives the answer.
[[nodiscard]] GatheredPostmortem gather_postmortem(const Context& context, const RunRecord& run,
                                                   Gather how, WallTime now);

}  // namespace berth
