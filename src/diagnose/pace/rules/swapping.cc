// Memory of the job was swapped out and is read back.

#include "base/text.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> swapping(const Seen& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen)) return {};
  const double swapped = features.swapped_bytes.value_or(0);
  const bool reads_back = features.swap_rate.value_or(0) >= t.swap_rate;
  const bool faults = features.major_faults.value_or(0) >= t.major_faults_rate;
  if (swapped <= 0 || (!reads_back && !faults)) return {};
  Finding finding{
      .rule = "swapping",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for memory that was swapped out"),
      .evidence = {busy_sentence(seen),
                   sentence("{} of the job's memory is swapped out",
                            short_size(Bytes(static_cast<std::uint64_t>(swapped))))},
      .meaning =
          sentence("The machine or the job's limit has too little memory: each touch of a page "
                   "that is out is a read from the disk."),
      .steps = {{sentence("load with fewer workers, or smaller batches ahead (prefetch_factor)"),
                 ""},
                {sentence("see who has the memory"), "ps aux --sort=-rss | head"}},
      .doubt = {}};
  if (features.swap_rate) {
    finding.evidence.push_back(
        sentence("the machine reads {} back from the swap space", size_rate(*features.swap_rate)));
  }
  if (features.major_faults) {
    finding.evidence.push_back(sentence("{} times a second the job waited for a page from the disk",
                                        decimal(*features.major_faults)));
  }
  return Cause{std::move(finding), features.idle()};
}

}  // namespace berth::pace
