// links: berth_place
// CUDA_VISIBLE_DEVICES as others wrote it.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/check.h"
#include "place/visible_devices.h"
#include "snapshot/builder.h"

namespace fuzz_visible_devices {

namespace {

using namespace berth::literals;

const berth::Snapshot& host() {
  static const berth::Snapshot three_cards = berth::SnapshotBuilder()
                                                 .gpu("GPU-8a3c0001", 24_GiB)
                                                 .gpu("GPU-8a3c0002", 24_GiB)
                                                 .gpu("GPU-9b000003", 24_GiB)
                                                 .build();
  return three_cards;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto list = berth::parse_visible_devices(text, berth::DeviceOrder::pci_bus_id, host());
  if (!list) return 0;
  const std::set<berth::DeviceId> distinct(list->devices.begin(), list->devices.end());
  BERTH_CHECK(distinct.size() == list->devices.size(), "no device is seen twice");
  const auto written =
      berth::write_visible_devices(list->devices, berth::VisibleFormat::uuids, host());
  BERTH_CHECK(written.has_value(), "what was read can be written");
  const auto again = berth::parse_visible_devices(*written, berth::DeviceOrder::pci_bus_id, host());
  BERTH_CHECK(again.has_value() && again->devices == list->devices, "and read again");
  return 0;
}

}  // namespace fuzz_visible_devices
