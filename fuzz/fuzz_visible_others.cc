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
  const VisibleDevices rocr = parse_rocr_visible_devices(list, host);
  const VisibleDevices hip = parse_hip_visible_devices(list, rocr.devices, host);
  BERTH_CHECK(rocr.devices.size() <= 4, "no device twice");
  BERTH_CHECK(hip.devices.size() <= rocr.devices.size(), "the second layer widens nothing");
  BERTH_CHECK(parse_affinity_mask(list, host).devices.size() <= 4, "no device twice");
  BERTH_CHECK(parse_ascend_visible_devices(list, host).devices.size() <= 4, "no device twice");
  BERTH_CHECK(parse_plain_numbers(list, DeviceKind::habana_gaudi, host).devices.size() <= 4,
              "no device twice");
  return 0;
}

}  // namespace fuzz_visible_others
