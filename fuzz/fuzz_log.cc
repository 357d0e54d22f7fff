// links: berth_diagnose
// A job's log, as pasted by anybody or written by any program. It is cleaned and matched with the
// catalogue of error texts. PyTorch's message of memory is read as numbers.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/encoding.h"
#include "base/text.h"
#include "diagnose/postmortem/explain_log.h"
#include "diagnose/postmortem/oom_message.h"

namespace {

/// What stands in a finding is escaped already: no byte of the log may command the terminal.
void check_said(const berth::Sentence& said) {
  const std::string text = said.english();
  BERTH_CHECK(berth::printable(text) == text, "a finding holds nothing unprintable");
}

void check_oom(std::string_view text) {
  const auto message = berth::parse_oom_message(text);
  if (!message) return;
  const berth::OomVerdict verdict = berth::judge(*message);
  if (verdict.of_others && message->total && verdict.others_by_difference) {
    BERTH_CHECK(*verdict.of_others <= *message->total, "others hold no more than there is");
  }
  const auto batch = berth::largest_batch(*message, 64);
  BERTH_CHECK(!batch || (*batch >= 1 && *batch < 64), "a smaller batch, and at least one");
}

/// Of UTF-16 as much is left as its units can be.
void check_encoding(std::string_view text) {
  for (const std::uint64_t left_out : {0U, 1U, 2U}) {
    const std::string said =
        berth::as_utf8(std::string(text), text.substr(0, berth::byte_order_mark_length), left_out);
    BERTH_CHECK(said.size() <= text.size() / 2 * 3 + text.size() % 2, "three bytes a unit at most");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::LogText log(text);
  for (std::size_t i = 0; i < log.size(); ++i) {
    BERTH_CHECK(!log.line(i).empty(), "a line holds something");
  }
  for (const berth::Finding& finding : berth::explain_log(log)) {
    BERTH_CHECK(!finding.evidence.empty(), "a finding has evidence");
    check_said(finding.title);
    for (const berth::Sentence& seen : finding.evidence) check_said(seen);
    for (const auto& step : finding.steps) check_said(step.what);
  }
  for (const std::string& line : berth::last_lines(log, 10)) {
    BERTH_CHECK(berth::printable(line) == line, "what is shown is escaped");
  }
  check_oom(text);
  check_encoding(text);
  return 0;
}
