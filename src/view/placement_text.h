#pragma once
// Why these devices, why not those: placements, refusals and waits in words and as JSON.

#include <span>
#include <string>
#include <utility>

#include "base/archive.h"
#include "place/placement.h"
#include "place/request.h"
#include "run/acquire.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// The whole reasoning (`--dry-run`): the request, what it would get and why, and what else would
/// do. Also what each rule refused, and who holds it.
[[nodiscard]] std::string render_placement(const Placement& placement, const Request& request,
                                           const Snapshot& snapshot, const Style& style);

/// Whether it is the policy that never lets it start, and nothing else.
[[nodiscard]] bool is_forbidden_by_policy(const Placement& placement);

/// One line per refused device: "GPU 2  NVIDIA H100  leased to alice since 10:02 (python train.py,
/// pid 4711)". Ends with what to do, where nothing of it will change by waiting says so.
[[nodiscard]] std::string render_refusals(const Placement& placement, const Snapshot& snapshot,
                                          const Style& style);

/// How many devices this job could be given, now or later.
[[nodiscard]] std::size_t ones_to_wait_for(const Placement& placement);

/// How many of the refused were not heard in time, and may do when they are.
[[nodiscard]] std::size_t silent_ones(const Placement& placement, const Snapshot& snapshot);

/// Why it cannot be told what devices this machine has: the driver is there, and did not say. Null:
/// it said, or there is no driver.
[[nodiscard]] const Problem* why_devices_are_unknown(const Snapshot& snapshot);

/// One line that fits the width, no line break: place in the queue, how long waited, what holds it.
/// A terminal overwrites it (over_line()).
[[nodiscard]] std::string render_waiting_line(const WaitingNews& news, const Style& style);

/// Why it waits, in full, once: what it has already of several devices, and what holds the others.
[[nodiscard]] std::string render_waiting_reasons(const WaitingNews& news, const Style& style);

/// The same for a pipe, with its place.
[[nodiscard]] std::string render_waiting_notice(const WaitingNews& news, const Style& style);

/// The change since the last line, in one line with its end: its place, devices taken (by whom) or
/// free. Empty: nothing.
[[nodiscard]] std::string render_waiting_change(const WaitingNews& before, const WaitingNews& now,
                                                const Style& style);

/// `pick --format json` and `--dry-run --json`. `asked_for` is the request as typed; `variables` is
/// what visible_variables() says for the chosen. Not translated, except the texts under "text" and
/// "reason".
[[nodiscard]] std::string placement_json(
    const Placement& placement, std::string_view asked_for, const Snapshot& snapshot,
    std::span<const std::pair<std::string, std::string>> variables = {});

/// The members of it.
void write_placement(Archive& archive, const Placement& placement, std::string_view asked_for,
                     const Snapshot& snapshot,
                     std::span<const std::pair<std::string, std::string>> variables = {});

}  // namespace berth
