#pragma once
// What NVIDIA's catalogue says about XID errors. In our own words; codes and what to do from
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (as of October 2025).

#include <cstdint>
#include <string_view>

#include "snapshot/snapshot.h"

namespace berth {

/// What to do first, as the catalogue's "immediate action".
enum class XidAction {
  none,             // nothing, or it follows from another error
  restart_app,      // the job is over; the device is fine
  check_link,       // NVLink: look at the link and its partner
  reset,            // the device needs a reset
  restart_machine,  // a reset will not do
  check_power,      // cables
  update,           // driver or firmware
  support           // unknown to us or to NVIDIA's readers
};

struct XidFacts {
  std::uint64_t code = 0;
  std::string_view meaning;
  XidAction action = XidAction::support;
};

/// For a code that is not in the catalogue: "not in the catalogue", support. Codes that were used
/// on cards before Ampere alone are in it as unused.
[[nodiscard]] XidFacts xid_facts(std::uint64_t code);

/// Whether it happened before the driver was loaded: that set the device up anew, so it is over.
/// The log's times are good to a second or two. What may have come after the load counts as that.
[[nodiscard]] bool is_before_driver_load(const XidEvent& event, const Snapshot& snapshot);

/// What to do, in a sentence.
[[nodiscard]] std::string_view advice_for(XidAction action);

/// How bad an error is for which this is to be done: `of_job` the device is fine. `of_device` it
/// does not work as it should. `needs_reset` nor will it without a reset, or a reboot.
enum class XidGravity { of_job, of_device, needs_reset };
[[nodiscard]] XidGravity gravity_of(XidAction action);

}  // namespace berth
