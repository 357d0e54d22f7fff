#pragma once
// DeviceSource: one vendor's driver, as a probe process asks it, device by device. Any call may
// fail, lie or never return. The watching process then leaves out the device that did not answer. A
// vendor is a row in device_source.cc, a row in snapshot/device_kind_rows.h, and a folder.
//
//   const auto source = source_of(DeviceKind::amd_gpu).make(sources);
//   if (const auto count = source->open()) {
//     for (int i = 0; i < *count; ++i) look = source->observe_device(i, Depth::state, taken);
//   } else problems.push_back(count.error());
//
// Keep it between looks: facts are read once, "not supported" is asked once.

#include <array>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tr.h"
#include "probe/pci/parse.h"
#include "probe/sources.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth {

/// What was learned of one GPU: itself first, then its partitions.
struct DeviceLook {
  std::vector<Device> devices;
  std::vector<GpuProcess> processes;
  std::vector<Problem> problems;
};

class DeviceSource {
 public:
  DeviceSource() = default;
  DeviceSource(const DeviceSource&) = delete;
  DeviceSource& operator=(const DeviceSource&) = delete;
  virtual ~DeviceSource() = default;

  /// Called after each answer of a device, from now on: for a caller that waits for silence to end.
  virtual void on_answer(std::function<void()>) {}

  /// Whether all its cards sleep, so that asking it would wake them up. Wakes none itself.
  [[nodiscard]] virtual bool is_asleep() const { return false; }
  /// Opens the driver where that is not done, or done again because it was reloaded, and counts the
  /// devices. May block.
  [[nodiscard]] virtual std::expected<int, Problem> open() = 0;
  /// Whether open() has given a count, and the driver is still open.
  [[nodiscard]] virtual bool is_open() const = 0;

  /// What it tells of the machine, where wanted; `failed` where open() gave no count.
  virtual void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>& problems) = 0;

  /// The first call to a device, which may start the card and take seconds. Failures are told by
  /// the calls below. May block.
  virtual void wake_device(int) {}

  /// Who the device is: id, index, name, UUID, PCI address, minor number. Nothing that moves: it
  /// tells the watcher which device is being asked. May block.
  [[nodiscard]] virtual Device identify_device(int index, const Wanted& wanted) = 0;

  /// One GPU, its partitions and their processes. May block. Never fails: what went wrong is in the
  /// readings and the problems.
  [[nodiscard]] virtual DeviceLook observe_device(int index, const Wanted& wanted,
                                                  WallTime taken) = 0;

  /// The identity of a device that is not asked because it did not answer. Calls nothing of the
  /// driver's. Its readings are `failed`.
  [[nodiscard]] virtual Device skipped_device(int index) const = 0;

  /// Errors that the driver has told by its events since this was called last; nothing the first
  /// time, which registers for them. May block.
  [[nodiscard]] virtual Reading<std::vector<XidEvent>> new_events(WallTime) {
    return Absent::unsupported;
  }
};

/// What the watching side has to know of a source before it answers.
struct SourceFacts {
  DeviceKind kind;  // what its whole cards are
  /// As /sys/bus/pci/drivers calls them; empty: it goes by the bus alone.
  std::array<std::string_view, 2> kernel_drivers;
  std::string_view pci_vendor;    // as /sys/bus/pci/devices/*/vendor has it
  std::string_view opening;       // what open() does, for people, through tr()
  std::string_view runtime_file;  // has the runtime's version; empty: the driver tells it
  std::string_view server = {};   // executable_name of what serves its jobs; empty: nothing does
  /// Whether opening it and waking a card up may take seconds (Patience::opening, ::waking).
  bool starts_slowly;
  /// The driver is asked through its library. That may know cards that the bus never showed.
  bool is_library;
  std::unique_ptr<DeviceSource> (*make)(const Sources& sources);
  /// For a source that goes by the bus: whether that has any.
  bool (*sees_any)(const Sources& sources, const pci::Makers& makers) = nullptr;
  /// What is on the bus, its driver bound, and the source does not tell of: why, through tr().
  std::string_view unlisted = as_key("its driver does not list it");
  /// The maker's display adapters are server boards' own.
  bool are_accelerators = false;
};
[[nodiscard]] std::span<const SourceFacts> all_sources();
[[nodiscard]] const SourceFacts& source_of(DeviceKind kind);
/// Sets GpuProcess::server where a vendor's server is seen. A user who gives a job such a name
/// gains nothing: berth may then place another job beside it.
void mark_servers(Snapshot& snapshot);
/// Whether the kernel's driver of that name is one that a source asks.
[[nodiscard]] bool is_asked(std::string_view kernel_driver);

/// The drivers to be asked on this machine, in the order in which their devices stand. One at
/// least: where no device is seen, its problem says why. Reads what the kernel lists of the bus,
/// which never blocks.
[[nodiscard]] std::vector<DeviceKind> drivers_here(const Sources& sources);

/// "GPU 2 (00000000:3b:00.0)", for problems.
[[nodiscard]] std::string shown_as(int index, const Device& device);

/// Whether the kernel has put the PCI device in this folder of /sys to sleep, or is about to.
/// Reading that wakes nothing up, where nearly all else does.
[[nodiscard]] bool is_suspended(const std::string& pci_folder);
/// Whether all cards of this kernel driver sleep. False: it has none.
[[nodiscard]] bool are_all_suspended(std::string_view driver, const std::string& sys);

/// Identity and facts alone, as rows of snapshot/fields.cc say what is a fact; every other reading
/// is absent with the reason given.
[[nodiscard]] Device only_facts(const Device& device, Absent why);
/// Every reading that nobody has taken is absent with the reason given.
void mark_unread(Device& device, Absent why);

}  // namespace berth
