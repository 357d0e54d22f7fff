#pragma once
// Dumps of the vendor's tool as snapshots: `nvidia-smi -q` text, `-q -x` XML (drivers 470 to 610)
// and capture files. The latter hold several commands' output, idle and under load. Everything in
// them is hostile until it is a reading. Lines that are not understood are left out, never an
// error.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "smi/tree.h"
#include "snapshot/snapshot.h"

namespace berth::smi {

/// Whether the text is one of the three, from its beginning; cheap.
[[nodiscard]] bool looks_like_dump(std::string_view text);

/// Every snapshot of such a text: one for each round of `-q -l`, else one, of that phase. Nothing:
/// it is none.
[[nodiscard]] std::optional<Result<std::vector<Snapshot>>> snapshots_in(std::string_view text,
                                                                        std::string_view phase);

// --- its parts, for tests
// -------------------------------------------------------------------------

/// The outputs of -q in a text, one for each round of `-q -l`. XML or a capture is one output.
[[nodiscard]] std::vector<std::string_view> dumps_in(std::string_view text);

/// `phase` names the part of a capture file: "idle", "load"; empty: the first that has a -q.
/// not_found: a capture without that phase; invalid: no GPU in it, or too much of everything.
[[nodiscard]] Result<Snapshot> snapshot_from_dump(std::string_view text, std::string_view phase);

[[nodiscard]] Result<Node> tree_from_text(std::string_view text);
[[nodiscard]] Result<Node> tree_from_xml(std::string_view text);
[[nodiscard]] Result<Snapshot> snapshot_from_tree(const Node& tree, Surface surface);
/// The output of the command whose heading contains `title`, in this phase.
[[nodiscard]] std::string_view section_of_capture(std::string_view text, std::string_view phase,
                                                  std::string_view title);

}  // namespace berth::smi
