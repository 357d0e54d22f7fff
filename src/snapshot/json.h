#pragma once
// The snapshot as JSON: berth's interchange format (doc/FORMATS.md). What `berth status --json`
// writes, what `--replay` and simulated servers are read from, what a user attaches to a report.
//
// Every reading is a number or text under a key that names its unit. An absent one is null, and
// "why" beside it says the reason.

#include <span>
#include <string>
#include <string_view>

#include "base/json_archive.h"
#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

struct Field;

/// The readings of each device that somebody asks for; empty: all that were taken.
using FieldList = std::span<const Field* const>;

/// `hidden`: how names and commands stand that a policy took out of leases and queue.
[[nodiscard]] std::string to_json(const Snapshot& snapshot, JsonLayout layout,
                                  Form hidden = Form::plain, FieldList asked = {});

/// The same, as the object that the archive is in.
void write_snapshot(Archive& archive, const Snapshot& snapshot, Form hidden, FieldList asked);

/// Reads what to_json wrote, and hand-written files that leave out what they do not know (those
/// readings are `not sampled`). Unknown keys are ignored: a newer minor version adds keys.
/// invalid: not JSON, not a snapshot, or a format version newer than this program knows; says
/// where.
[[nodiscard]] Result<Snapshot> snapshot_from_json(std::string_view text);

}  // namespace berth
