#pragma once
// Small questions that several surfaces of nvidia-smi ask of a snapshot.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::smi {

/// What nvidia-smi calls a GPU: a numbered device of NVIDIA that is no MIG instance.
[[nodiscard]] std::vector<const Device*> gpus_of(const Snapshot& snapshot);

/// "C", "G", "C+G", "M+C".
[[nodiscard]] std::string_view letters_of(GpuUse use);

/// The program's name as the driver tells it: the first word of its command.
[[nodiscard]] std::string process_name(const GpuProcess& process, const Snapshot& snapshot);

/// Which of its parent's MIG instances it is, counted from 0.
[[nodiscard]] std::uint64_t mig_index(const Device& instance, const Snapshot& snapshot);

}  // namespace berth::smi
