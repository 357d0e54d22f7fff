#pragma once
// Facts of a snapshot that several surfaces show, in nvidia-smi's terms. Such are the devices that
// it would number, a card's instances, a process's name.

#include <string>
#include <string_view>
#include <vector>

#include "smi/smi.h"
#include "snapshot/snapshot.h"

namespace berth::smi {

/// Whole cards the driver numbers, in the order of the snapshot; of `devices` (as
/// SmiRequest::devices has them) where that is not empty.
[[nodiscard]] std::vector<const Device*> gpus(const Snapshot& snapshot,
                                              const std::vector<std::string>& devices);
[[nodiscard]] std::vector<const Device*> instances_of(const Device& gpu, const Snapshot& snapshot);

/// Nobody told who is on it: a dump without that section, a list that could not be read. Of a card
/// that does not answer at all, the cells say so; nvidia-smi calls its list empty.
[[nodiscard]] bool is_process_list_unknown(const Device& gpu, const Snapshot& snapshot);

/// The processes on a card and its instances as -q, the table and pmon list them: by pid. A
/// snapshot has them in the driver's order, which --query-compute-apps keeps.
[[nodiscard]] std::vector<const GpuProcess*> processes_by_pid(const Device& gpu,
                                                              const Snapshot& snapshot);

/// What the driver calls a process: the first word of its command; "[Not Found]" where it is gone.
[[nodiscard]] std::string process_name(const GpuProcess& process, const Snapshot& snapshot);

/// Why there is no value, in a cell of a table: "N/A", or "ERR!" where it should be there.
[[nodiscard]] std::string_view absent_cell(Absent why, const Device& device);

/// "00000000:0C:00.0"; nothing where the address is unknown.
[[nodiscard]] std::string bus_id(const Device& device);
/// Bytes as MiB, rounded up, as everywhere in nvidia-smi.
[[nodiscard]] std::uint64_t mib(Bytes bytes);
/// Whether the driver gives no access to it at all: a card lost in use still says who it is.
[[nodiscard]] bool is_lost_without_handle(const Device& gpu);
/// "GPU 0: NVIDIA L40S (UUID: GPU-…)", or, without a handle, "Unable to determine the device
/// handle for GPU1: 0000:34:00.0: GPU is lost. …"
[[nodiscard]] std::string list_line(const Device& gpu);

}  // namespace berth::smi
