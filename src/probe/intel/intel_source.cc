#include "probe/intel/intel_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/bus.h"
#include "probe/sysfs/files.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

using sysfs::line_of;
using sysfs::number_of;

constexpr std::array<std::string_view, 2> intel_drivers = {"xe", "i915"};
// Where all of them have their graphics; a card of its own has another address.
constexpr std::string_view of_the_processor = "00000000:00:02.0";

/// 0 means that there is none.
Reading<Milliwatts> limit_of(const std::string& path) {
  const Reading<std::uint64_t> told = number_of(path);
  if (told.get() && *told.get() == 0) return Absent::unsupported;
  return sysfs::power_of(told);
}

Reading<Celsius> heat_of(const std::string& sensors, std::string_view label,
                         std::string_view otherwise) {
  std::string found(otherwise);
  for (const char* number : {"1", "2", "3", "4"}) {
    const std::string sensor = sensors + "/temp" + number + "_";
    if (line_of(sensor + "label").get() == std::string(label)) found = sensor + "input";
  }
  if (found.empty()) return Absent::unsupported;
  return sysfs::heat_of(number_of(found));
}

/// Folders of graphics engines' parts, whichever driver: "gt0" below.
std::vector<std::string> parts_of(const std::string& folder, std::string_view beginning) {
  std::vector<std::string> parts;
  for (const std::string& name : entries_in(folder)) {
    const bool is_part = name.starts_with(beginning) &&
                         parse_unsigned(std::string_view(name).substr(beginning.size()));
    if (is_part) parts.push_back(folder + "/" + name);
  }
  return parts;
}

Reading<Megahertz> first_clock(const std::vector<std::string>& paths) {
  Reading<Megahertz> first = Absent::unsupported;
  for (const std::string& path : paths) {
    first = sysfs::clock_of(number_of(path), 1);
    if (first.get() || first.why() != Absent::unsupported) return first;
  }
  return first;
}

struct ToldReason {
  std::string_view file;
  ClockReason reason;
};
constexpr std::array<ToldReason, 8> reasons_told = {{
    {"pl1", ClockReason::power_cap},
    {"pl2", ClockReason::power_cap},
    {"pl4", ClockReason::power_cap},
    {"thermal", ClockReason::hardware_thermal},
    {"prochot", ClockReason::power_brake},
    {"ratl", ClockReason::hardware},
    {"vr_tdc", ClockReason::hardware},
    {"vr_thermalert", ClockReason::hardware_thermal},
}};

/// `status` tells whether there is any.
Reading<ClockReasons> throttle_of(const std::string& path, const std::string& beginning) {
  const Reading<std::uint64_t> status = number_of(path);
  if (!status.get()) return status.why();
  std::uint64_t bits = 0;
  if (*status.get() == 0) return ClockReasons{bits};
  for (const ToldReason& one : reasons_told) {
    const auto told = number_of(beginning + std::string(one.file));
    if (told.get() && *told.get() != 0) {
      bits |= static_cast<std::uint64_t>(one.reason);
      if (one.reason != ClockReason::power_cap) {
        bits |= static_cast<std::uint64_t>(ClockReason::hardware);
      }
    }
  }
  return ClockReasons{bits};
}

}  // namespace

std::vector<IntelSource::Card> IntelSource::cards_here() const {
  std::vector<Card> cards;
  // By address, as Level Zero counts them.
  for (sysfs::BoundCard& bound : sysfs::cards_of_drivers(intel_drivers, sys_)) {
    Card card;
    card.folder = std::move(bound.folder);
    card.driver = std::move(bound.driver);
    card.address = std::move(bound.address);
    for (const std::string& name : entries_in(card.folder + "/drm")) {
      const bool is_card = number_behind(name, "card").has_value();
      if (is_card) card.drm = card.folder + "/drm/" + name;
      constexpr std::string_view render = "renderD";
      if (name.starts_with(render)) card.render_minor = number_behind(name, render);
      if (is_card || name.starts_with(render)) card.files.push_back("/dev/dri/" + name);
    }
    for (const std::string& gt : parts_of(card.drm + "/gt", "gt")) {
      card.engines_idle.push_back(gt + "/rc6_residency_ms");
    }
    for (const std::string& tile : parts_of(card.folder, "tile")) {
      for (const std::string& gt : parts_of(tile, "gt")) {
        card.engines_idle.push_back(gt + "/gtidle/idle_residency_ms");
      }
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

std::expected<int, Problem> IntelSource::open() {
  files_.reset();
  std::vector<Card> now = cards_here();
  for (Card& card : now) {
    const auto known = std::ranges::find(cards_, card.address, &Card::address);
    if (known == cards_.end()) continue;
    card.counted = std::move(known->counted);
    card.load = std::move(known->load);
    card.sensors = std::move(known->sensors);
  }
  cards_ = std::move(now);
  is_open_ = !cards_.empty();
  if (!is_open_) {
    return std::unexpected(
        Problem{.source = "intel",
                .code = "driver_not_loaded",
                .message = sentence("the xe and i915 drivers have no GPU any more"),
                .remedy = sentence("look for \"xe\" and \"i915\" in the kernel log")});
  }
  return static_cast<int>(cards_.size());
}

/// Both drivers are the kernel's own.
void IntelSource::observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) {
  if (!wanted.has(Extra::driver_version)) return;
  host.software_of(Runtime::level_zero).driver = is_open_ ? Absent::unsupported : Absent::failed;
}

Device IntelSource::identify_device(int index, const Wanted&) {
  const Card& card = cards_[static_cast<std::size_t>(index)];
  Device device;
  device.kind = DeviceKind::intel_gpu;
  device.id = DeviceId(card.address);
  device.pci_address = card.address;
  device.integrated = card.address == of_the_processor;
  device.index = index;
  device.runtime_index = index;
  device.kernel_driver = card.driver;
  device.name = Absent::unsupported;  // the list of PCI devices has it
  device.minor_number = card.render_minor ? Reading<std::uint64_t>(*card.render_minor)
                                          : Reading<std::uint64_t>(Absent::unsupported);
  return device;
}

void IntelSource::find_sensors(Card& card) const {
  if (!card.sensors.empty() && is_there(card.sensors)) return;
  card.sensors.clear();
  for (const std::string& name : entries_in(card.folder + "/hwmon")) {
    const std::string folder = card.folder + "/hwmon/" + name;
    if (line_of(folder + "/name").get() == card.driver) card.sensors = folder;
  }
}

Reading<double> IntelSource::rate_of(Card& card, const std::string& path,
                                     const Reading<std::uint64_t>& number, Instant now) {
  if (!number.get()) return number.why();
  const auto before = card.counted.find(path);
  Reading<double> rate = Absent::not_sampled;
  if (before != card.counted.end() && now > before->second.at &&
      *number.get() >= before->second.number) {
    const std::chrono::duration<double> span = now - before->second.at;
    rate = static_cast<double>(*number.get() - before->second.number) / span.count();
  }
  card.counted[path] = {.number = *number.get(), .at = now};
  return rate;
}

/// What the driver tells in /sys: xe of each tile, Intel's own packages of i915 of the card. The
/// kernel's i915 and its newer xe tell it to an ioctl alone, and an address range is no size: then
/// it is absent.
Reading<Bytes> IntelSource::memory_of(const Card& card) const {
  if (card.driver == "i915") {
    return sysfs::bytes_of(number_of(card.drm + "/lmem_total_bytes"));
  }
  Reading<Bytes> sum = Absent::unsupported;
  for (const std::string& tile : parts_of(card.folder, "tile")) {
    const auto told = sysfs::bytes_of(number_of(tile + "/physical_vram_size_bytes"));
    if (!told.get()) return told.why();
    sum = sum.get().value_or(Bytes{0}) + *told.get();
  }
  return sum;
}

void IntelSource::read_sensors(Card& card, const Wanted& wanted, Device& device) {
  const Instant now = now_();
  find_sensors(card);
  constexpr double percent_per_ms = 0.1;  // of a second
  constexpr double most = 100.0;
  for (const std::string& path : card.engines_idle) {
    const Reading<double> asleep = rate_of(card, path, number_of(path), now);
    if (!asleep.get()) {
      if (!device.utilization_gpu.get()) device.utilization_gpu = asleep.why();
      continue;
    }
    const double busy = std::clamp(most - *asleep.get() * percent_per_ms, 0.0, most);
    const auto& known = device.utilization_gpu.get();
    if (!known || known->count() < busy) device.utilization_gpu = Percent{busy};
  }
  if (card.sensors.empty()) return;
  // The card's energy, which some leave at 0, else its chip's.
  for (const char* number : {"1", "2"}) {
    const std::string energy = card.sensors + "/energy" + number + "_input";
    const Reading<std::uint64_t> told = number_of(energy);
    if (!told.get() || *told.get() == 0) continue;
    constexpr std::uint64_t microjoules = 1000;
    device.energy = Millijoules{*told.get() / microjoules};
    const Reading<double> rate = rate_of(card, energy, told, now);
    constexpr double milliwatts = 1e-3;
    device.power_draw =
        rate.get()
            ? Reading<Milliwatts>(Milliwatts{static_cast<std::uint64_t>(*rate.get() * milliwatts)})
            : Reading<Milliwatts>(rate.why());
    break;
  }
  if (wanted.has<&Device::power_limit, &Device::power_limit_default>()) {
    device.power_limit = limit_of(card.sensors + "/power1_max");
    if (!device.power_limit.get()) device.power_limit = limit_of(card.sensors + "/power2_max");
    device.power_limit_default = limit_of(card.sensors + "/power1_rated_max");
  }
  const std::string first = card.driver == "i915" ? card.sensors + "/temp1_input" : "";
  device.temperature = heat_of(card.sensors, "pkg", first);
  device.temperature_memory = heat_of(card.sensors, "vram", "");
}

void IntelSource::read_clocks(const Card& card, Device& device) const {
  const std::string xe = card.folder + "/tile0/gt0/freq0/";
  const std::string i915 = card.drm + "/gt/gt0/";
  device.clock_graphics =
      first_clock({xe + "act_freq", i915 + "rps_act_freq_mhz", card.drm + "/gt_act_freq_mhz"});
  device.clock_graphics_max =
      first_clock({xe + "rp0_freq", i915 + "rps_RP0_freq_mhz", card.drm + "/gt_RP0_freq_mhz"});
  device.throttle_reasons =
      card.driver == "xe" ? throttle_of(xe + "throttle/status", xe + "throttle/reason_")
                          : throttle_of(i915 + "throttle_reason_status", i915 + "throttle_reason_");
}

/// The card's own function stands behind a switch and always says 2.5 GT/s x1. The bridge that the
/// card is plugged into counts, two above.
void IntelSource::read_link(const Card& card, Device& device) const {
  if (device.integrated) return;
  const auto real = berth::read_link(card.folder);
  if (!real) return;
  std::string path = *real;
  for (int i = 0; i < 2; ++i) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
  if (!normal_pci_address(path.substr(path.rfind('/') + 1))) return;
  if (!path.starts_with('/')) path = sys_ + "/bus/pci/devices/" + path;
  const auto generation = [&](std::string_view file) -> Reading<std::uint64_t> {
    const auto line = line_of(path + "/" + std::string(file));
    const auto told = line.get() ? pci::generation_from_speed(*line.get()) : std::nullopt;
    return told ? Reading<std::uint64_t>(*told) : Absent::unsupported;
  };
  device.pcie_generation = generation("current_link_speed");
  device.pcie_generation_max = generation("max_link_speed");
  device.pcie_width = number_of(path + "/current_link_width");
  device.pcie_width_max = number_of(path + "/max_link_width");
}

void IntelSource::read_processes(Card& card, const Wanted& wanted, DeviceLook& look) {
  if (!files_) files_.emplace(proc_, std::vector<std::string>{"/dev/dri/"});
  Device& device = look.devices.front();
  card.load.begin(now_());
  struct Use {
    GpuProcess told;
    std::optional<Bytes> memory;
    bool draws = false, computes = false;
    drm::ClientLoad load;
  };
  std::map<pid_t, Use> uses;
  for (const drm::ClientOf& one : files_->clients_of(card.files)) {
    Use& use = uses[one.pid];
    const auto memory =
        device.integrated ? drm::memory_of_host(one.client) : drm::memory_on_card(one.client);
    if (memory) use.memory = use.memory.value_or(Bytes{0}) + *memory;
    use.computes |= drm::has_used(one.client, drm::EngineKind::compute);
    use.draws |= drm::has_used(one.client, drm::EngineKind::graphics);
    if (!wanted.has(Extra::process_load)) continue;
    use.load.add(card.load.of(one.client));
  }
  card.load.end();
  constexpr Bytes most_of_a_window{std::uint64_t{1} << 30U};
  Bytes sum;
  std::uint64_t count = 0;
  for (auto& [pid, use] : uses) {
    // Somebody who only looks has the file open, too.
    if (!use.draws && !use.computes && use.memory == Bytes{0}) continue;
    const bool is_large = !use.memory || *use.memory > most_of_a_window;
    use.told.device = device.id;
    use.told.pid = pid;
    if (wanted.has(Extra::process_load)) {
      use.told.utilization_sm = use.load.shader;
      use.told.utilization_decoder = use.load.decoder;
      use.told.utilization_encoder = use.load.encoder;
    }
    use.told.use = use.draws && (use.computes || is_large) ? GpuUse::both
                   : use.draws                             ? GpuUse::graphics
                                                           : GpuUse::compute;
    use.told.memory = use.memory ? Reading<Bytes>(*use.memory) : Absent::unsupported;
    sum += use.memory.value_or(Bytes{0});
    look.processes.push_back(std::move(use.told));
    ++count;
  }
  const auto unread = files_->why_none()     ? files_->why_none()
                      : files_->hides_some() ? std::optional(Absent::no_permission)
                                             : std::nullopt;
  device.process_count = unread ? Reading<std::uint64_t>(*unread) : Reading<std::uint64_t>(count);
  if (device.integrated) return;
  device.memory_used = unread ? Reading<Bytes>(*unread) : Reading<Bytes>(sum);
}

DeviceLook IntelSource::observe_device(int index, const Wanted& wanted, WallTime) {
  Card& card = cards_[static_cast<std::size_t>(index)];
  DeviceLook look;
  look.devices.push_back(only_facts(identify_device(index, wanted), Absent::unsupported));
  Device& device = look.devices.front();
  if (!wanted.has(Extra::sleepers) && is_suspended(card.folder)) {
    device.unusable_because = Unusable::asleep;
  } else {
    if (!device.integrated) device.memory_total = memory_of(card);
    read_sensors(card, wanted, device);
    read_clocks(card, device);
    read_link(card, device);
  }
  if (wanted.has(Extra::processes)) read_processes(card, wanted, look);
  return look;
}

Device IntelSource::skipped_device(int index) const {
  const Card& card = cards_[static_cast<std::size_t>(index)];
  Device device = only_facts(Device{}, Absent::failed);
  device.kind = DeviceKind::intel_gpu;
  device.id = DeviceId(card.address);
  device.index = index;
  device.pci_address = card.address;
  return device;
}

}  // namespace berth
