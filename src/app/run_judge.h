#pragma once
// What a run's record tells when all of it is looked at: for `berth explain` and `berth report`,
// and for who asks the server why it went as it did. Gathered here, judged by diagnose/.

#include <memory>
#include <string>

#include "app/context.h"
#include "diagnose/postmortem/evidence.h"
#include "record/run_record.h"
#include "serve/api.h"
#include "view/report/model.h"

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

[[nodiscard]] ReportSource report_source(const Context& context, const RunRecord& run, Gather how,
                                         WallTime now);

/// In other users' runs it leaves out what the kernel's log says, which the server alone may read.
class RunJudge final : public serve::RunJudge {
 public:
  explicit RunJudge(Context& context) : context_(context) {}
  [[nodiscard]] std::string explanation(const RunRecord& run) const override;
  [[nodiscard]] std::string report(const RunRecord& run) const override;

 private:
  Context& context_;  // read alone, from several threads
};

}  // namespace berth
