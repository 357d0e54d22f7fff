// links: berth_probe
// A recording to replay: one snapshot per line, at times that need not make sense.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "probe/replay/replay.h"

namespace fuzz_recording {

namespace {

/// What is recorded, without what was noticed while reading on.
bool shows(const berth::Snapshot& seen, berth::Snapshot recorded) {
  recorded.problems.insert(
      recorded.problems.end(),
      seen.problems.begin() +
          static_cast<std::ptrdiff_t>(std::min(recorded.problems.size(), seen.problems.size())),
      seen.problems.end());
  return seen == recorded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
    (void)berth::Recording::parse(text, berth::Sentence("fuzz"), {.first = first});
  }
  auto recording = berth::Recording::parse(text, berth::Sentence("fuzz"));
  if (!recording) {
    BERTH_CHECK(!recording.error().message().empty(), "a refusal says why");
    return 0;
  }
  std::vector<berth::Snapshot> readable;
  for (std::size_t i = 0; i < recording->size(); ++i) {
    if (auto snapshot = recording->at(i)) readable.push_back(std::move(*snapshot));
  }
  BERTH_CHECK(!readable.empty(), "what is taken for a recording begins with a snapshot");

  berth::Player player(std::move(*recording));
  std::size_t position = 0;
  constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t now :
       {std::int64_t{0}, std::int64_t{1000}, std::int64_t{86'400'000}, end_of_time}) {
    const berth::Snapshot seen = player.look({now});
    while (position < readable.size() && !shows(seen, readable[position])) ++position;
    BERTH_CHECK(position < readable.size(), "one of the recording is shown, never an earlier one");
  }
  BERTH_CHECK(shows(player.look({end_of_time}), readable.back()), "at the end the last one stays");
  return 0;
}

}  // namespace fuzz_recording
