#pragma once
// Snapshot: all that one pass over the sources learned at one instant, claims included, and what
// went wrong. It is a value. Probes build it; who asked for the look adds leases and verdicts. Then
// nothing changes it, and everything else asks it. Its JSON (snapshot/json.h) is berth's
// interchange format.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/sentence.h"
#include "snapshot/claim.h"
#include "snapshot/device.h"
#include "snapshot/device_fault.h"
#include "snapshot/device_kind.h"
#include "snapshot/process.h"

namespace berth {

/// Something that went wrong while looking: it costs only what it touches.
struct Problem {
  std::string source;              // "nvml", "pci", "procfs", "ledger"
  std::optional<DeviceId> device;  // nothing: the whole source
  std::string code;  // a word for programs: "library_not_found", "device_lost", "timeout"
  Sentence message;  // what was attempted, on what, what the system said
  Sentence remedy;   // what to do next; may be empty
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Whether a source could be asked, for "berth_probe_success".
struct SourceReport {
  std::string source;
  bool succeeded = false;
  friend bool operator==(const SourceReport&, const SourceReport&) = default;
};

/// The source of claims and waiters. It tells of no device.
inline constexpr std::string_view ledger_source = "ledger";

/// A card that the driver was told to leave alone: it has no index and no readings.
struct ExcludedDevice {
  std::string pci_address;  // as Device::pci_address
  std::string uuid;
  friend bool operator==(const ExcludedDevice&, const ExcludedDevice&) = default;
};

/// The versions of what one vendor brings along.
struct VendorSoftware {
  /// Absent  unsupported: the driver has no version of its own (has_in_tree_driver()).
  Reading<std::string> driver;
  Reading<std::string> library;  // by which programs ask the driver (NVML)
  /// "13.1": the highest that the driver supports, or what is installed, as
  /// DeviceKindFacts::runtime_version says.
  Reading<std::string> runtime;
  friend bool operator==(const VendorSoftware&, const VendorSoftware&) = default;
};

struct Host {
  Reading<std::string> name;
  Reading<std::string> kernel;
  Reading<std::string> boot_id;
  std::array<VendorSoftware, runtime_count> software;  // by Runtime, which each vendor has one of
  /// Which processes can be seen. "whole": all of them. "namespace": only this container's, as the
  /// driver's numbers are the host's. "wsl": only Linux's, as Windows' are not listed.
  Reading<std::string> process_view;
  Reading<std::vector<ExcludedDevice>> excluded_devices;

  [[nodiscard]] VendorSoftware& software_of(Runtime runtime) {
    return software[static_cast<std::size_t>(runtime)];
  }
  [[nodiscard]] const VendorSoftware& software_of(Runtime runtime) const {
    return software[static_cast<std::size_t>(runtime)];
  }
  /// Its own vendor's.
  [[nodiscard]] const VendorSoftware& software_of(const Device& device) const {
    return software_of(facts_of(device.kind).runtime);
  }
  friend bool operator==(const Host&, const Host&) = default;
};

/// An error that the driver reported: in the kernel log, or by NVML's events, which name no
/// process.
struct XidEvent {
  std::string pci_address;  // as Device::pci_address
  std::uint64_t code = 0;
  WallTime at;
  Reading<std::uint64_t> pid;    // of the process it names
  Reading<std::string> process;  // its name, as the driver had it
  std::string text;              // what the driver says after that
  /// Above those of all that were told in earlier looks: who looks each second knows the new
  /// ones by it. Given where they are kept (probe/xid_memory.h); no text has it.
  std::uint64_t number = 0;
  friend bool operator==(const XidEvent&, const XidEvent&) = default;
};

struct Snapshot {
  static constexpr int format_version = 1;

  WallTime taken;
  /// Name of the simulated server; nothing: this is a real machine. Shown on every surface.
  std::optional<std::string> simulated;
  Host host;
  std::vector<Device> devices;  // by index, MIG instances after their parent, numberless last
  std::vector<GpuProcess> gpu_processes;
  std::vector<HostProcess> processes;  // by pid
  Reading<DeviceFiles> device_files;   // looked for only where somebody asks (`berth ps`)
  /// In the order of their times. Since the kernel log begins where that is asked for (`berth
  /// health`); of a collector of many looks, since the first look.
  Reading<std::vector<XidEvent>> xids;
  /// When the NVIDIA module was loaded last, by the same log: errors before that are history.
  ///
  /// Absent  not_sampled: the log does not tell it, or was not read.
  Reading<WallTime> driver_loaded;
  // Empty also where the ledger could not be read: is_ledger_unread() of snapshot/questions.h.
  std::vector<Claim> claims;    // by `since`
  std::vector<Waiter> waiters;  // in queue order
  /// Devices that no job should be given, each with the first reason, by order of the devices.
  /// Derived: health/ judges each look (health/health.h). JSON shows them with the devices, and is
  /// judged anew when it is read.
  std::vector<DeviceFault> faults;
  std::vector<SourceReport> sources;
  std::vector<Problem> problems;

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace berth
