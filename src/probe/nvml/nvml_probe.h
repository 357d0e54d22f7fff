#pragma once
// NvmlProbe: what NVIDIA's management library (libnvidia-ml) knows of the devices and of the
// processes on them. The library is opened at run time, every function of it is optional, and any
// call may fail, lie or never return; so the probe goes device by device, and the probe process
// (probe/process) can leave out one that did not answer.
//
//   NvmlProbe probe({.library = sources.nvml_library, .proc = sources.proc});
//   if (const auto count = probe.open()) {
//     probe.observe_host(host);
//     for (int i = 0; i < *count; ++i) look = probe.observe_device(i, Depth::state, taken);
//   } else problems.push_back(count.error());
//
// Keep the probe between looks: facts are read once, "not supported" is asked once, and rates of
// processes need the timestamp of the look before.

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth {

namespace nvml {
struct Api;
}

/// Where the library and the kernel module's version are found.
struct NvmlSource {
  std::string library = "libnvidia-ml.so.1";
  std::string proc = "/proc";
};

/// What was learned of one GPU: itself first, then its MIG instances.
struct DeviceLook {
  std::vector<Device> devices;
  std::vector<GpuProcess> processes;
  std::vector<Problem> problems;
};

class NvmlProbe {
 public:
  /// Opens nothing yet.
  explicit NvmlProbe(NvmlSource source);
  /// With a table of functions instead of a library.
  NvmlProbe(const nvml::Api& api, NvmlSource source);
  /// Shuts the library down, which may block: a process that gave up on a device ends by _exit.
  ~NvmlProbe();

  /// Called after each answer of a device, from now on: for whoever waits for silence to end.
  void on_answer(std::function<void()> act);

  /// Loads and initialises the library where that is not done, or done again because the driver
  /// was reloaded, and counts the devices. May block.
  ///
  /// Problem codes: library_not_found, driver_not_loaded, version_mismatch, no_permission,
  ///                device_lost, library_unusable, driver_failed.
  [[nodiscard]] std::expected<int, Problem> open();

  /// Versions of driver, library and CUDA, where wanted. Only after open() gave a count, as all
  /// below.
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>& problems);

  /// The first call to a device. Without persistence mode the driver starts the card for it, which
  /// takes seconds; what goes wrong is told by those below. May block.
  void wake_device(int index);

  /// Who the device is (id, index, name, UUID, PCI address, minor number), and nothing that moves:
  /// for telling the watcher which device is being asked. May block.
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted);

  /// One GPU, its MIG instances and their processes. May block. Never fails: what went wrong is in
  /// the readings and the problems.
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken);

  /// Errors that the driver has told by its events since this was called last, of the devices that
  /// were asked by now; nothing the first time, which registers for them. May block.
  [[nodiscard]] Reading<std::vector<XidEvent>> new_xids(WallTime taken);
  /// Whether open() has given a count, and the library is still open.
  [[nodiscard]] bool is_open() const;

  /// The row of a device that is not to be asked because it did not answer: identity as known from
  /// an earlier look, else by its place among /proc/driver/nvidia/gpus, else "nvml-index-N". Calls
  /// nothing of the driver's. Its readings are `failed`, and a Problem "timeout" comes with it.
  [[nodiscard]] DeviceLook skipped_device(int index) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
