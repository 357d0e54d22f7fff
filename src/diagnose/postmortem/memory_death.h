#pragma once
// Whether a run died for want of a device's memory, and who held that memory then: asked once, when
// it ends, so that the record can say so and the run can be started again with more.

#include <cstdint>
#include <optional>

#include "base/sentence.h"
#include "diagnose/postmortem/evidence.h"
#include "record/sample.h"

namespace berth {

/// By its output, by what refused it memory, or by who ended it: whatever `berth explain` takes
/// for that. A run whose output is not kept and that nothing held to a share never did.
[[nodiscard]] bool died_of_gpu_memory(const PostmortemEvidence& evidence);

/// "GPU 0: 23.0 GiB of 24.0 GiB were in use (RUN 20.0 GiB, anna 3.0 GiB)" by the run's last sample.
/// English, for the record; "?": nobody can be named.
[[nodiscard]] Sentence holders_text(const Manifest& manifest, const Sample& last);

/// Allocations that what holds the run to its share has refused, as its record says.
[[nodiscard]] std::uint64_t refusals_of(const RunRecord& run);

/// By the record alone: nothing, it did not die so; else who held the memory then. It judges each
/// end of a run (run/run.h MemoryJudge).
[[nodiscard]] std::optional<Sentence> who_held_its_memory(const RunRecord& run);

}  // namespace berth
