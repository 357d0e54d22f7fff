// links: berth_place
// Requests: from the command line, and from tickets that strangers wrote.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "place/job_spec.h"
#include "place/placement.h"
#include "place/request.h"
#include "snapshot/builder.h"

namespace fuzz_request {

namespace {

using namespace berth::literals;

const berth::Snapshot& host() {
  static const berth::Snapshot two_cards =
      berth::SnapshotBuilder().gpu("GPU-aaaa", 24_GiB).used(3_GiB).gpu("GPU-bbbb", 80_GiB).build();
  return two_cards;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::parse_share(text);
  if (const auto patterns = berth::parse_patterns(text)) {
    for (const auto& pattern : *patterns) (void)matches(pattern, host().devices.front());
  }
  for (const berth::JobKey& key : berth::job_keys()) {
    berth::JobSpec job;
    if (key.parse(text, job)) (void)key.typed(job);
  }

  const auto request = berth::request_from_json(text);
  if (!request) return 0;
  const auto again = berth::request_from_json(berth::to_json(*request));
  BERTH_CHECK(again.has_value() && *again == *request, "a ticket says what was written into it");
  (void)berth::as_typed(*request);
  const berth::Placement placement = berth::place(host(), *request);
  BERTH_CHECK(placement.chosen.empty() ||
                  placement.chosen.size() == static_cast<std::size_t>(request->devices),
              "all devices that were asked for, or none");
  return 0;
}

}  // namespace fuzz_request
