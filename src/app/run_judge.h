#pragma once
// All that a run's record tells when the whole of it is read. `berth report` shows it, and the
// server tells it to those who ask why a run went as it did.

#include <string>
#include <vector>

#include "app/context.h"
#include "app/postmortem.h"
#include "record/run_record.h"
#include "serve/api.h"
#include "view/report/model.h"

namespace berth {

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
