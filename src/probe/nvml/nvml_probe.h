#pragma once
// NvmlProbe: what NVIDIA's management library (libnvidia-ml) knows of the devices and of the
// processes on them. The library is opened at run time, and every function of it is optional. Any
// call may fail, lie or never return. So the probe goes device by device, and the probe process
// (probe/probe_process) can leave out one that did not answer.
//
//   NvmlProbe probe({.library = sources.nvml_library, .proc = sources.proc, .sys = sources.sys});
//   if (const auto count = probe.open()) {
//     probe.observe_host(host);
//     for (int i = 0; i < *count; ++i) look = probe.observe_device(i, Depth::state, taken);
//   } else problems.push_back(count.error());
//
// Keep the probe between looks: facts are read once, "not supported" is asked once, and rates of
// processes need the timestamp of the look before.

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probe/device_source.h"

namespace berth {

namespace nvml {
struct Api;
}

/// Where the library and the kernel module's version are found.
struct NvmlSource {
  std::string library = "libnvidia-ml.so.1";
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string_view maker = "NVIDIA";  // for people: another's library may have the same functions
};

class NvmlProbe final : public DeviceSource {
 public:
  /// Opens nothing yet.
  explicit NvmlProbe(NvmlSource source);
  /// With a table of functions instead of a library.
  NvmlProbe(const nvml::Api& api, NvmlSource source);
  /// Shuts the library down, which may block: a process that gave up on a device ends by _exit.
  ~NvmlProbe() override;

  void on_answer(std::function<void()> act) override;

  /// Laptops and workstations put a card that nobody uses to sleep; opening the library wakes it
  /// up.
  [[nodiscard]] bool is_asleep() const override;
  /// Problem codes: library_not_found, driver_not_loaded, version_mismatch, no_permission,
  ///                device_lost, library_unusable, driver_failed.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override;
  /// Versions of driver, library and CUDA.
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>& problems) override;
  /// Without persistence mode the driver starts the card for it.
  void wake_device(int index) override;
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  /// Events of the devices that were asked by now.
  [[nodiscard]] Reading<std::vector<XidEvent>> new_events(WallTime taken) override;
  /// Identity as known from an earlier look, else by its place among /proc/driver/nvidia/gpus, else
  /// "nvml-index-N".
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_nvml_source(const Sources& sources) {
  return std::make_unique<NvmlProbe>(
      NvmlSource{.library = sources.nvml_library, .proc = sources.proc, .sys = sources.sys});
}

}  // namespace berth
