#pragma once
// `berth ps`: every process on the devices, whose it is and what it costs. It includes processes
// that hold a device and do not show up where one would look.

#include <optional>
#include <string>

#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

struct ProcessListOptions {
  std::optional<std::string> user;  // a name or a number: only that user's
  bool tree = false;                // under their parents instead of under their devices
};

/// The table, and below it notes: processes that have ended and still hold memory, and those stuck
/// in the kernel. Also memory of nobody, with the processes that have the device open. And how much
/// of the machine can be seen from here.
[[nodiscard]] std::string render_process_list(const Snapshot& snapshot, const Style& style,
                                              const ProcessListOptions& options = {});

/// Which processes cannot be seen from here, in a sentence; empty: all can.
[[nodiscard]] std::string process_view_note(const Host& host);

/// The same as JSON: one object per process and device. There is also one per device whose memory
/// its processes do not explain. Absent values are null with the reason under "why".
[[nodiscard]] std::string process_list_json(const Snapshot& snapshot,
                                            const ProcessListOptions& options = {});

}  // namespace berth
