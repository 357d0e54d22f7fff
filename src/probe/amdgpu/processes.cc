#include "probe/amdgpu/processes.h"

#include <map>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/sysfs/files.h"

namespace berth::amdgpu {

namespace {

/// What is known of one process on one GPU.
struct Use {
  bool in_kfd = false;
  std::optional<Bytes> kfd_memory;
  bool in_drm = false;
  bool holds = false;  // has it open, and nothing more can be told
  std::optional<Bytes> drm_memory;
  bool draws = false;
  bool computes = false;
  drm::ClientLoad load;
};
using Uses = std::map<pid_t, Use>;

/// A drawing process with more than this may compute by an interface for drawing (Vulkan).
constexpr Bytes most_of_a_window{std::uint64_t{1} << 30U};
/// What the driver keeps of a client that has a card open and does nothing there.
constexpr Bytes most_of_an_onlooker{std::uint64_t{64} << 20U};

/// Absent: the KFD is not there, or cannot be read.
std::optional<Absent> add_kfd(const std::string& sys, const Node* node, Uses& uses) {
  if (node == nullptr || node->gpu_id.empty()) return Absent::unsupported;
  const std::string folder = sys + "/class/kfd/kfd/proc";
  const auto entries = list_directory(folder);
  if (!entries) {
    return entries.error().code() == ErrorCode::no_permission ? Absent::no_permission
                                                              : Absent::unsupported;
  }
  std::optional<Absent> unread;
  for (const std::string& entry : *entries) {
    const auto pid = parse_unsigned(entry);
    if (!pid || !std::in_range<pid_t>(*pid)) continue;
    Use& use = uses[static_cast<pid_t>(*pid)];
    use.in_kfd = true;
    std::string file = folder;
    file += "/" + entry + "/vram_" + node->gpu_id;
    const Reading<std::uint64_t> memory = sysfs::number_of(file);
    if (memory.get()) use.kfd_memory = Bytes{*memory.get()};
    // Not there: it has ended. Not readable is not nobody.
    if (!memory.get() && memory.why() != Absent::unsupported) unread = memory.why();
  }
  return unread;
}

void add(std::optional<Bytes>& sum, std::optional<Bytes> more) {
  if (more) sum = sum.value_or(Bytes{0}) + *more;
}

void add_client(const drm::ClientOf& one, bool with_host_memory, drm::Load* load, Uses& uses) {
  Use& use = uses[one.pid];
  use.in_drm = true;
  add(use.drm_memory, drm::memory_on_card(one.client));
  if (with_host_memory) add(use.drm_memory, drm::memory_of_host(one.client));
  use.draws |= drm::has_used(one.client, drm::EngineKind::graphics) ||
               drm::has_used(one.client, drm::EngineKind::decode) ||
               drm::has_used(one.client, drm::EngineKind::encode);
  use.computes |= drm::has_used(one.client, drm::EngineKind::compute);
  if (load == nullptr) return;
  use.load.add(load->of(one.client));
}

/// Whether it uses this GPU, and does not only have it open: ROCm opens all of them.
bool is_on_it(const Use& use) {
  if (use.kfd_memory && *use.kfd_memory > Bytes{0}) return true;
  if (use.holds) return true;
  if (!use.in_drm) return false;
  if (use.draws || use.computes) return true;
  const Bytes least = use.in_kfd ? most_of_an_onlooker : Bytes{0};
  return !use.drm_memory || *use.drm_memory > least;
}

std::optional<Bytes> memory_of(const Use& use, bool is_integrated) {
  // The KFD does not count what lies in the processor's memory.
  if (is_integrated && use.drm_memory) return use.drm_memory;
  if (use.kfd_memory && *use.kfd_memory > Bytes{0}) return use.kfd_memory;
  return use.drm_memory;
}

GpuUse what_for(const Use& use, std::optional<Bytes> memory) {
  const bool computes = use.computes || (use.kfd_memory && *use.kfd_memory > Bytes{0});
  if (computes) return use.draws ? GpuUse::both : GpuUse::compute;
  const bool is_large = !memory || *memory > most_of_a_window;
  if (use.draws) return is_large ? GpuUse::both : GpuUse::graphics;
  return is_large ? GpuUse::compute : GpuUse::graphics;
}

}  // namespace

void read_processes(const ProcessSources& sources, const Card& card, const Node* node,
                    drm::Load* load, Device& device, std::vector<GpuProcess>& processes) {
  Uses uses;
  const std::optional<Absent> no_kfd = add_kfd(sources.sys, node, uses);
  // Else the two lists could not be told apart.
  if (sources.sees_all || no_kfd) {
    for (const drm::ClientOf& one : sources.files.clients_of(card.device_files(node))) {
      add_client(one, sources.is_integrated, load, uses);
    }
  }
  if (!sources.has_clients) {
    for (const pid_t pid : sources.files.holders_of(card.device_files(node))) {
      uses[pid].holds = !uses[pid].kfd_memory;
    }
  }
  std::uint64_t count = 0;
  for (const auto& [pid, use] : uses) {
    if (!is_on_it(use)) continue;
    ++count;
    GpuProcess process;
    process.device = device.id;
    process.pid = pid;
    process.partition = device.partition;
    const auto memory = memory_of(use, sources.is_integrated);
    process.memory = memory ? Reading<Bytes>(*memory) : Absent::unsupported;
    process.use = what_for(use, memory);
    process.utilization_sm = use.load.shader;
    process.utilization_decoder = use.load.decoder;
    process.utilization_encoder = use.load.encoder;
    // What queues of ROCm's do is in no client's engines.
    if (use.in_kfd) process.utilization_sm = Absent::unsupported;
    processes.push_back(std::move(process));
  }
  const bool has_kfd = no_kfd != Absent::unsupported;
  const std::optional<Absent> unknown = has_kfd                    ? no_kfd
                                        : sources.files.why_none() ? sources.files.why_none()
                                        : sources.files.hides_some()
                                            ? std::optional(Absent::no_permission)
                                            : std::nullopt;
  device.process_count = unknown ? Reading<std::uint64_t>(*unknown) : Reading<std::uint64_t>(count);
}

}  // namespace berth::amdgpu
