#pragma once
// `berth status`: every device on one line, its users behind it or below, problems underneath. Fits
// 80 columns; wider terminals get more columns, narrower ones fewer. Never wraps a row.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "place/request.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"
#include "view/style.h"

namespace berth {

/// Which part of the machine to show.
struct StatusOptions {
  std::vector<DevicePattern> devices;  // `-i`; empty: all
  std::optional<std::string> user;     // `-u`: only devices this user has something on, and theirs
};

/// Devices the options let through, in the snapshot's order. A parent chosen by -i brings its MIG
/// instances along.
[[nodiscard]] std::vector<const Device*> shown_devices(const Snapshot& snapshot,
                                                       const StatusOptions& options);

/// Whether every pattern names a device. not_found: the first that names none; the message lists
/// what there is.
[[nodiscard]] Result<void> check_patterns(const Snapshot& snapshot, const StatusOptions& options);

/// The snapshot with only what the options let through, for `--json` and `--csv`. Other devices,
/// their processes and leases are gone. Problems of the whole machine stay.
///
/// not_found: as check_patterns() says.
[[nodiscard]] Result<Snapshot> narrowed(const Snapshot& snapshot, const StatusOptions& options);

/// The readings that render_status() shows and judges by.
[[nodiscard]] Wanted wanted_by_status();
[[nodiscard]] std::string render_status(const Snapshot& snapshot, const Style& style,
                                        const StatusOptions& options = {});

}  // namespace berth
