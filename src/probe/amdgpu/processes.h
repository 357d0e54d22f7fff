#pragma once
// Who is on a GPU of AMD's. Two lists overlap. The KFD's has ROCm's processes: everybody may read
// it, and its numbers are the host's. DRM's has the clients of open device files: graphics, video,
// and the memory of ROCm's programs once more. Only root sees other users' clients. A process is
// told once: with the KFD's memory, and with DRM's engines.

#include <string>
#include <vector>

#include "probe/amdgpu/cards.h"
#include "probe/drm/clients.h"
#include "probe/drm/load.h"
#include "snapshot/device.h"
#include "snapshot/process.h"

namespace berth::amdgpu {

struct ProcessSources {
  const std::string& sys;
  const drm::OpenDeviceFiles& files;
  /// Whether process numbers here are the host's. Else one number may mean two processes.
  bool sees_all = true;
  /// Whether the driver tells in fdinfo what a client has. Else every process with the card open is
  /// on it, unless the KFD tells that it has no memory there.
  bool has_clients = true;
  bool is_integrated = false;  // its memory is the processor's
};

/// Adds them, and Device::process_count. `node`: the partition; null: ROCm does not know the card.
/// `load`: how busy each is, where wanted.
void read_processes(const ProcessSources& sources, const Card& card, const Node* node,
                    drm::Load* load, Device& device, std::vector<GpuProcess>& processes);

}  // namespace berth::amdgpu
