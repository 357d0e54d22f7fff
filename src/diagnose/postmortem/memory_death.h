#pragma once
// Whether a run died for want of a device's memory, and who held that memory then. Asked once, when
// the run ends. Then the record can say so, and the run can be started again with more.

#include <cstdint>
#include <optional>

#include "base/sentence.h"
#include "diagnose/postmortem/evidence.h"
#include "record/sample.h"

namespace berth {

/// Whether `berth explain` takes the run's end for that. It judges by the output, by what refused
/// it memory, or by who ended it. Never true if the output is not kept and nothing held the run to
/// a share.
[[nodiscard]] bool died_of_gpu_memory(const PostmortemEvidence& evidence);

/// By the run's last sample: `GPU 0: 23.0 GiB of 24.0 GiB were in use (RUN 20.0 GiB, anna 3.0
/// GiB)`. English, for the record; "?": nobody can be named.
[[nodiscard]] Sentence holders_text(const Manifest& manifest, const Sample& last);

/// Allocations that what holds the run to its share has refused: as the sampler last wrote them, or
/// as the job's account has them. A job may end before the first look at its account.
[[nodiscard]] std::uint64_t refusals_of(const RunRecord& run);

/// By the record alone: nothing, it did not die so; else who held the memory then. It judges each
/// end of a run (run/run.h MemoryJudge).
[[nodiscard]] std::optional<Sentence> who_held_its_memory(const RunRecord& run);

}  // namespace berth
