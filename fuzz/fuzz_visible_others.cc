// links: berth_place
// The visible-devices variables of other makers than NVIDIA.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "place/visible_others.h"
#include "snapshot/builder.h"

namespace fuzz_visible_others {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static const Snapshot host = [] {
    Snapshot made;
    const DeviceKind kinds[] = {DeviceKind::amd_gpu, DeviceKind::intel_gpu, DeviceKind::ascend_npu,
                                DeviceKind::habana_gaudi};
    for (int i = 0; i < 16; ++i) {
      Device device;
      device.kind = kinds[i / 4];
      device.id = DeviceId("GPU-" + std::to_string(i) + "f");
      device.uuid = device.id.text();
      device.index = i;
      device.runtime_index = i % 4;
      made.devices.push_back(std::move(device));
    }
    return made;
  }();
  const std::string_view list(reinterpret_cast<const char*>(data), size);
  for (const DeviceKindFacts& facts : device_kinds()) {
    if (facts.list_syntax == ListSyntax::cuda) continue;
    const VisibleDevices read = read_visible_list(facts, list, host);
    BERTH_CHECK(read.devices.size() <= 4, "no device twice");
    const VisibleDevices second = parse_hip_visible_devices(list, read.devices, host);
    BERTH_CHECK(second.devices.size() <= read.devices.size(), "the second layer widens nothing");
  }
  return 0;
}

}  // namespace fuzz_visible_others
