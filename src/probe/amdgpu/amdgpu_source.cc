#include "probe/amdgpu/amdgpu_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/amdgpu/processes.h"
#include "probe/amdgpu/readings.h"
#include "probe/sysfs/files.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

using amdgpu::GpuMetrics;
using amdgpu::Node;
using sysfs::line_of;

namespace {

/// "SPX NPS1".
Reading<std::string> partition_mode_of(const amdgpu::Card& card) {
  const Reading<std::string> compute = line_of(card.folder + "/current_compute_partition");
  if (!compute.get()) {
    // An older driver of a divided card does not tell how.
    return card.is_divided() ? Reading<std::string>(std::string("CPX")) : compute.why();
  }
  const Reading<std::string> memory = line_of(card.folder + "/current_memory_partition");
  const bool is_word = compute.get()->size() <= 8;
  if (!is_word) return Absent::failed;
  return *compute.get() + (memory.get() && memory.get()->size() <= 8 ? " " + *memory.get() : "");
}

/// Why no job can be given it, or nothing. Any other identity of it could give a job another card.
WhyUnusable obstacle_to(const amdgpu::Card& card, bool has_rocm, bool may_be_divided = true) {
  const bool is_unread = !card.number.get() && card.number.why() != Absent::unsupported;
  // The bus lists it as soon as the driver begins with it, its files and its number come later.
  const bool is_starting = card.card_file.empty() && !card.render_minor && card.nodes.empty();
  if (is_unread || is_starting || (card.is_divided() && !may_be_divided)) {
    return Unusable::unanswered;
  }
  // Its number among all would be that of another card to ROCm.
  if (has_rocm && card.nodes.empty()) return WhyUnusable(as_key("ROCm does not list it"));
  return {};
}

Reading<std::string> text_or_none(const std::string& text) {
  return text.empty() ? Reading<std::string>(Absent::unsupported) : text;
}

}  // namespace

void AmdgpuSource::find_cards() {
  std::vector<amdgpu::Card> now = amdgpu::cards_of_bus(sys_, driver_);
  const std::string state = amdgpu::topology_state(sys_);
  const bool same = !state.empty() && state == topology_ &&
                    std::ranges::equal(now, known_, [](const amdgpu::Card& card, const Known& one) {
                      return card.address == one.card.address &&
                             card.render_minor == one.card.render_minor &&
                             card.number == one.card.number;
                    });
  if (same) return;
  amdgpu::add_nodes(now, sys_);
  topology_ = state;
  std::vector<Known> before = std::exchange(known_, {});
  for (amdgpu::Card& card : now) {
    const auto old = std::ranges::find_if(
        before, [&](const Known& one) { return one.card.address == card.address; });
    Known one = old == before.end() ? Known{} : std::move(*old);
    // Another card may have its place.
    const bool is_another = one.is_told && card.number.get() && card.number != one.number;
    if (is_another) one = {};
    card.sensors = one.card.sensors;
    one.card = std::move(card);
    known_.push_back(std::move(one));
  }
}

std::expected<int, Problem> AmdgpuSource::open() {
  files_.reset();
  find_cards();
  is_open_ = !known_.empty();
  if (!is_open_) {
    return std::unexpected(
        Problem{.source = std::string(facts_of(driver_.kind).source),
                .code = "driver_not_loaded",
                .message = sentence("the {} driver has no GPU any more", driver_.names.front()),
                .remedy = sentence("look for \"{}\" in the kernel log", driver_.names.front())});
  }
  return static_cast<int>(known_.size());
}

/// AMD's packages bring a module with a version. The kernel's own has none.
void AmdgpuSource::observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) {
  if (!wanted.has(Extra::driver_version) || driver_.is_fork) return;
  Reading<std::string>& driver = host.software_of(Runtime::rocm).driver;
  driver = is_open_ ? line_of(sys_ + "/module/amdgpu/version") : Absent::failed;
}

void AmdgpuSource::read_facts(Known& one) {
  const amdgpu::Card& card = one.card;
  Device& device = one.facts;
  device.kind = driver_.kind;
  device.pci_address = card.address;
  device.name = line_of(card.folder + "/product_name");
  device.vbios_version = line_of(card.folder + "/vbios_version");
  device.serial = line_of(card.folder + "/serial_number");
  // A number that two cards have is no identity.
  const auto& unique = card.number.get();
  // Where a fork's files are not there its cards go by their address, and so they do here.
  const bool is_alone =
      unique && !driver_.is_fork && std::ranges::none_of(known_, [&](const Known& other) {
        return &other != &one && other.card.number == card.number;
      });
  device.uuid = is_alone ? Reading<std::string>("GPU-" + *unique)
                : unique ? Reading<std::string>(Absent::unsupported)
                         : card.number;
  device.id = DeviceId(is_alone ? *device.uuid.get() : card.address);
  one.number = card.number;
  one.is_told = obstacle_to(card, false).empty();
}

Device AmdgpuSource::identify_device(int index, const Wanted&) {
  Known& one = known(index);
  if (!one.is_told) read_facts(one);
  Device& device = one.facts;
  const amdgpu::Card& card = one.card;
  const Node* first = card.nodes.empty() ? nullptr : &card.nodes.front();
  const auto minor =
      card.render_minor || first == nullptr ? card.render_minor : first->render_minor;
  device.minor_number =
      minor ? Reading<std::uint64_t>(*minor) : Reading<std::uint64_t>(Absent::unsupported);
  device.architecture = text_or_none(first != nullptr ? first->chip : "");
  device.index = index;
  const bool has_rocm =
      std::ranges::any_of(known_, [](const Known& other) { return !other.card.nodes.empty(); });
  device.unusable_because = obstacle_to(card, has_rocm, !driver_.is_fork);
  device.runtime_index =
      first != nullptr && !card.is_divided() ? std::optional(first->runtime_index) : std::nullopt;
  return device;
}

Device AmdgpuSource::partition_of(const Known& one, const Node& node) const {
  Device part = only_facts(one.facts, Absent::unsupported);
  part.kind = DeviceKind::amd_partition;
  part.parent = one.facts.id;
  part.partition = Partition{.gpu_instance = node.partition, .compute_instance = 0};
  part.id = DeviceId(fmt::format("{}-p{}", one.facts.id.text(), node.partition));
  if (part.name.get()) part.name = fmt::format("{} p{}", *part.name.get(), node.partition);
  part.uuid = Absent::unsupported;  // the card's is that of all its partitions
  part.runtime_index = node.runtime_index;
  part.architecture = text_or_none(node.chip);
  if (node.render_minor) part.minor_number = *node.render_minor;
  part.memory_total = node.memory.count() > 0 ? Reading<Bytes>(node.memory) : Absent::unsupported;
  return part;
}

DeviceLook AmdgpuSource::observe_device(int index, const Wanted& wanted, WallTime) {
  const Device facts = identify_device(index, wanted);
  Known& one = known(index);
  DeviceLook look;
  look.devices.push_back(only_facts(facts, Absent::unsupported));
  amdgpu::read_memory(one.card, look.devices.front());
  std::optional<GpuMetrics> metrics;
  if (!wanted.has(Extra::sleepers) && is_suspended(one.card.folder)) {
    WhyUnusable& why = look.devices.front().unusable_because;
    if (why.empty()) why = Unusable::asleep;
  } else {
    Device& device = look.devices.front();
    device.partition_mode = partition_mode_of(one.card);
    const bool is_being_joined = one.card.is_divided() && division_of(device) == Division::whole &&
                                 device.partition_mode.get();
    if (is_being_joined) device.unusable_because = Unusable::unanswered;
    metrics = amdgpu::metrics_of(one.card);
    amdgpu::read_awake(one.card, metrics, wanted, device);
    if (metrics && metrics->is_apu) one.facts.integrated = true;
    if (metrics && metrics->residencies) {
      device.throttle_reasons =
          one.residencies
              ? Reading<ClockReasons>(reasons_between(*one.residencies, *metrics->residencies))
              : Absent::not_sampled;
      one.residencies = metrics->residencies;
    }
  }
  const bool has_processor = !one.card.nodes.empty() && one.card.nodes.front().has_processor;
  look.devices.front().integrated = one.facts.integrated || has_processor;
  if (wanted.has(Extra::nvlinks) && !one.card.nodes.empty()) {
    look.devices.front().lists.nvlinks = one.card.nodes.front().links;
  }
  const bool is_divided = division_of(look.devices.front()) != Division::whole;
  if ((is_divided || one.card.is_divided()) && !driver_.is_fork && wanted.has(Extra::instances)) {
    for (std::size_t i = 0; i < one.card.nodes.size(); ++i) {
      Device part = partition_of(one, one.card.nodes[i]);
      part.unusable_because = look.devices.front().unusable_because;
      if (metrics && i < metrics->partitions_busy.size() && metrics->partitions_busy[i]) {
        part.utilization_gpu = *metrics->partitions_busy[i];
      }
      look.devices.push_back(std::move(part));
    }
  }
  if (wanted.has(Extra::processes)) read_processes(one, wanted, look);
  return look;
}

void AmdgpuSource::read_processes(Known& one, const Wanted& wanted, DeviceLook& look) {
  if (!files_) files_.emplace(proc_, std::vector<std::string>{"/dev/dri/"});
  const amdgpu::ProcessSources sources{.sys = sys_,
                                       .files = *files_,
                                       .sees_all = drm::sees_all_processes(proc_),
                                       .has_clients = !driver_.is_fork,
                                       .is_integrated = look.devices.front().integrated};
  one.load.begin(now_());
  drm::Load* load = wanted.has(Extra::process_load) ? &one.load : nullptr;
  if (look.devices.size() == 1) {
    const Node* node = one.card.nodes.empty() ? nullptr : &one.card.nodes.front();
    amdgpu::read_processes(sources, one.card, node, load, look.devices.front(), look.processes);
  } else {
    std::uint64_t count = 0;
    std::optional<Absent> unread;
    for (std::size_t i = 0; i < one.card.nodes.size(); ++i) {
      Device& part = look.devices[i + 1];
      amdgpu::read_processes(sources, one.card, &one.card.nodes[i], load, part, look.processes);
      count += part.process_count.get().value_or(0);
      if (!part.process_count.get()) unread = part.process_count.why();
    }
    look.devices.front().process_count =
        unread ? Reading<std::uint64_t>(*unread) : Reading<std::uint64_t>(count);
  }
  one.load.end();
}

Device AmdgpuSource::skipped_device(int index) const {
  const Known& one = known_[static_cast<std::size_t>(index)];
  Device device = only_facts(one.facts, Absent::failed);
  if (device.id.text().empty()) device.id = DeviceId(one.card.address);
  device.kind = driver_.kind;
  device.index = index;
  device.pci_address = one.card.address;
  return device;
}

}  // namespace berth
