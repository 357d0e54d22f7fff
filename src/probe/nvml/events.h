#pragma once
// Errors as NVML's events tell them, to every user. The kernel log also names the process, but on
// many machines only root reads it. Events are told from the registration on. The driver keeps them
// until they are fetched, so a late look has them all.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/reading.h"
#include "probe/nvml/api.h"
#include "snapshot/snapshot.h"

namespace berth::nvml {

/// A device that may tell something.
struct EventSource {
  Handle handle = nullptr;
  std::string pci_address;
};

class EventWatch {
 public:
  /// What has been told since this was called last, dated now: registers for the devices that are
  /// new to it, and waits for nothing. May block where the driver does.
  ///
  /// Absent  unsupported: the library has no events, or no device does; failed, no permission: why
  ///         no device could be registered, or the answer that was no event.
  [[nodiscard]] Reading<std::vector<XidEvent>> news(const Api& api,
                                                    std::span<const EventSource> devices,
                                                    WallTime now);
  /// Gives the set back, while the library is still initialised; news() begins anew.
  void close(const Api& api);
  /// Some answer said that the library must be initialised again.
  [[nodiscard]] bool wants_initialising() const { return wants_initialising_; }

 private:
  [[nodiscard]] Return add(const Api& api, const EventSource& device);
  void add_new(const Api& api, std::span<const EventSource> devices);
  Return fetch(const Api& api, std::span<const EventSource> devices, WallTime now,
               std::vector<XidEvent>& events);

  EventSet set_ = nullptr;
  std::set<Handle> asked_;
  bool any_registered_ = false;
  Return refusal_ = not_supported;  // of the device that was asked last and could not be registered
  bool wants_initialising_ = false;
};

}  // namespace berth::nvml
