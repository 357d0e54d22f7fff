#pragma once
// Why a job died, by its log alone. Finds the catalogue's entries in it, the numbers in PyTorch's
// message of memory, and the rank that stopped first. A log that merely speaks of an error (a
// remark, a retry that went well) has no findings.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/postmortem/log_text.h"
#include "diagnose/postmortem/oom_message.h"
#include "diagnose/postmortem/oom_verdict.h"
#include "snapshot/finding.h"
#include "snapshot/snapshot.h"

namespace berth {

/// The causes in the order of the log. Without a cause: what follows from one, else what sums up.
/// Then remarks.
[[nodiscard]] Findings explain_log(const LogText& log, const OomContext& around = {});

/// The meaning of an XID by NVIDIA's catalogue, and what to do.
[[nodiscard]] Finding finding_of_xid(const XidEvent& xid, Sentence title, Sentence evidence);

/// The GPU's memory was used up: a cause that stands in the log.
struct GpuMemoryShortage {
  std::optional<OomMessage> message;  // nothing: another framework's, which has no such numbers
};
[[nodiscard]] std::optional<GpuMemoryShortage> gpu_memory_shortage(const LogText& log);
/// Whether a finding of that rule says so.
[[nodiscard]] bool is_gpu_memory_shortage(std::string_view rule);

/// The last lines for people, at most `count`: what there is where nothing is known. Escaped.
[[nodiscard]] std::vector<std::string> last_lines(const LogText& log, std::size_t count);

}  // namespace berth
