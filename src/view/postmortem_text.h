#pragma once
// `berth explain`: why a run or a log ended as it did, and the line that `berth run` adds at its
// end.

#include <string>

#include "record/run_record.h"
#include "snapshot/finding.h"
#include "view/style.h"

namespace berth {

/// What is explained.
struct Explained {
  const RunRecord* run = nullptr;  // null: a log
  std::string log;                 // its name; empty: there is none
  bool log_cut = false;            // only its end was read
  std::string why_no_log;          // translated; empty: there is one, or none is to be expected
};

/// Heading, findings, and where there is none, that.
[[nodiscard]] std::string render_explanation(const Explained& what, const Findings& findings,
                                             const Moment& now, const Style& style);

/// {"berth_explain": 1, …}. Sentences are English.
[[nodiscard]] std::string explanation_json(const Explained& what, const Findings& findings);

/// "Why: the kernel killed it … (more: berth explain ID)", one line, never cut.
[[nodiscard]] std::string render_cause_line(const Finding& cause, const RunRecord& run,
                                            const Style& style);

/// For a failed job whose output alone could say why: how to have it kept. One line.
[[nodiscard]] std::string render_output_not_kept(const Style& style);

}  // namespace berth
