#include "probe/amdgpu/amdgpu_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/pci/parse.h"
#include "snapshot/silence.h"

namespace berth {

namespace {

constexpr std::size_t longest_file = 4096;

Absent why_absent(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return Absent::unsupported;
    case ErrorCode::no_permission:  // also while the card sleeps or is being reset
      return Absent::no_permission;
    default:
      return Absent::failed;
  }
}

Reading<std::string> line_of(const std::string& path) {
  const auto text = read_file(path, longest_file);
  if (!text) return why_absent(text.error());
  const std::string_view line = trimmed(*text);
  return line.empty() ? Reading<std::string>(Absent::unsupported) : std::string(line);
}

Reading<std::uint64_t> number_of(const std::string& path) {
  const Reading<std::string> line = line_of(path);
  if (!line.get()) return line.why();
  const auto number = parse_unsigned(*line.get());
  return number ? Reading<std::uint64_t>(*number) : Absent::failed;
}

/// `T` of what the file tells in `per_unit`-ths of it.
template <class T>
Reading<T> quantity_of(const std::string& path, std::uint64_t per_unit) {
  const Reading<std::uint64_t> number = number_of(path);
  if (!number.get()) return number.why();
  return T(static_cast<typename T::rep>(*number.get() / per_unit));
}

template <class T>
void take_first(Reading<T>& reading, Reading<T> other) {
  if (!reading.get() && (other.get() || reading.why() == Absent::not_sampled)) {
    reading = std::move(other);
  }
}

/// The card's sensors: the number in the folder's name is another after each boot.
std::optional<std::string> sensors_of(const std::string& card) {
  const auto entries = list_directory(card + "/hwmon");
  if (!entries) return std::nullopt;
  for (const std::string& entry : *entries) {
    std::string folder = card + "/hwmon/" + entry;
    if (line_of(folder + "/name").get() == std::string("amdgpu")) return folder;
  }
  return std::nullopt;
}

/// By its label, as Instinct cards have no "edge". "junction" is the hottest spot, by which the
/// card slows itself down.
Reading<Celsius> temperature_of(const std::string& sensors, std::string_view label,
                                std::string_view what) {
  constexpr std::uint64_t per_degree = 1000;
  for (const char* number : {"1", "2", "3"}) {
    const std::string sensor = sensors + "/temp" + number + "_";
    const Reading<std::string> told = line_of(sensor + "label");
    const bool is_it = told.get() ? *told.get() == label : label == "edge" && number[0] == '1';
    if (is_it) return quantity_of<Celsius>(sensor + std::string(what), per_degree);
  }
  return Absent::unsupported;
}

void read_sensors(const std::string& sensors, Device& device) {
  constexpr std::uint64_t microwatts = 1000;  // in a milliwatt
  constexpr std::uint64_t hertz = 1'000'000;  // in a megahertz
  device.temperature = temperature_of(sensors, "edge", "input");
  take_first(device.temperature, temperature_of(sensors, "junction", "input"));
  device.temperature_memory = temperature_of(sensors, "mem", "input");
  device.temperature_slowdown = temperature_of(sensors, "junction", "crit");
  // Which of the two a card has depends on its generation.
  device.power_draw = quantity_of<Milliwatts>(sensors + "/power1_average", microwatts);
  take_first(device.power_draw, quantity_of<Milliwatts>(sensors + "/power1_input", microwatts));
  device.power_limit = quantity_of<Milliwatts>(sensors + "/power1_cap", microwatts);
  device.power_limit_default = quantity_of<Milliwatts>(sensors + "/power1_cap_default", microwatts);
  device.clock_graphics = quantity_of<Megahertz>(sensors + "/freq1_input", hertz);
  device.clock_memory = quantity_of<Megahertz>(sensors + "/freq2_input", hertz);
  const Reading<std::uint64_t> fan = number_of(sensors + "/pwm1");
  constexpr double full_speed = 255.0;
  constexpr double percent = 100.0;
  device.fan_speed =
      fan.get() ? Reading<Percent>(Percent{static_cast<double>(*fan.get()) * percent / full_speed})
                : fan.why();
}

void read_memory(const std::string& card, Device& device) {
  device.memory_total = quantity_of<Bytes>(card + "/mem_info_vram_total", 1);
  device.memory_used = quantity_of<Bytes>(card + "/mem_info_vram_used", 1);
  const auto& total = device.memory_total.get();
  const auto& used = device.memory_used.get();
  if (total && used) {
    device.memory_free = minus(*total, *used).value_or(Bytes{0});
  } else {
    device.memory_free = total ? device.memory_used.why() : device.memory_total.why();
  }
}

Reading<Percent> busy_of(const std::string& path) {
  const Reading<std::uint64_t> told = number_of(path);
  constexpr std::uint64_t most = 100;
  if (!told.get()) return told.why();
  return *told.get() <= most ? Reading<Percent>(Percent{static_cast<double>(*told.get())})
                             : Absent::failed;
}

/// "key value" lines.
std::map<std::string, std::uint64_t, std::less<>> properties_of(const std::string& path) {
  std::map<std::string, std::uint64_t, std::less<>> properties;
  const auto text = read_file(path, longest_file);
  if (!text) return properties;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    if (const auto value = parse_unsigned(trimmed(line.substr(blank)))) {
      properties.emplace(line.substr(0, blank), *value);
    }
  }
  return properties;
}

}  // namespace

std::vector<AmdgpuSource::Card> AmdgpuSource::cards_here() const {
  std::vector<Card> cards;
  const auto entries = list_directory(sys_ + "/bus/pci/drivers/amdgpu");
  for (const std::string& entry : entries.value_or(std::vector<std::string>{})) {
    auto address = normal_pci_address(entry);
    if (!address) continue;
    const std::string folder = sys_ + "/bus/pci/devices/" + entry;
    const Reading<std::string> told = line_of(folder + "/class");
    const auto pci_class = told.get() ? pci::parse_hex(*told.get()) : std::nullopt;
    if (!pci_class || !pci::is_wanted_class(*pci_class)) continue;
    cards.push_back({.folder = folder, .address = std::move(*address), .node = {}, .facts = {}});
  }
  return cards;
}

void AmdgpuSource::find_nodes(std::vector<Card>& cards) const {
  const std::string topology = sys_ + "/class/kfd/kfd/topology/nodes/";
  const auto entries = list_directory(topology);
  if (!entries) return;
  std::vector<std::pair<std::uint64_t, std::string>> nodes;
  for (const std::string& entry : *entries) {
    if (const auto number = parse_unsigned(entry)) nodes.emplace_back(*number, entry);
  }
  std::ranges::sort(nodes);
  int runtime_index = 0;
  for (const auto& [number, entry] : nodes) {
    const auto properties = properties_of(topology + entry + "/properties");
    const auto value = [&](std::string_view key) -> std::uint64_t {
      const auto found = properties.find(key);
      return found == properties.end() ? 0 : found->second;
    };
    if (value("simd_count") == 0) continue;  // a processor
    const int mine = runtime_index++;
    const std::uint64_t location = value("location_id");
    const std::string address =
        fmt::format("{:08x}:{:02x}:{:02x}.{:x}", value("domain"), location >> 8U & 0xffU,
                    location >> 3U & 0x1fU, location & 7U);
    const auto card = std::ranges::find(cards, address, &Card::address);
    if (card == cards.end()) continue;  // a partition behind the first
    const Reading<std::string> id = line_of(topology + entry + "/gpu_id");
    card->node = Node{.runtime_index = mine, .gpu_id = id.get().value_or("")};
  }
}

std::expected<int, Problem> AmdgpuSource::open() {
  std::vector<Card> now = cards_here();
  if (now.empty()) {
    is_open_ = false;
    return std::unexpected(
        Problem{.source = "amdgpu",
                .code = "driver_not_loaded",
                .message = std::string(tr("the amdgpu driver has no GPU any more")),
                .remedy = std::string(tr("look for \"amdgpu\" in the kernel log"))});
  }
  find_nodes(now);
  for (Card& card : now) {
    const auto known = std::ranges::find(cards_, card.address, &Card::address);
    if (known != cards_.end()) card.facts = std::move(known->facts);
  }
  cards_ = std::move(now);
  is_open_ = true;
  return static_cast<int>(cards_.size());
}

/// AMD's packages bring a module with a version. The kernel's own has none.
void AmdgpuSource::observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) {
  if (!wanted.has(Extra::driver_version)) return;
  Reading<std::string>& driver = host.software_of(Runtime::rocm).driver;
  driver = is_open_ ? line_of(sys_ + "/module/amdgpu/version") : Absent::failed;
}

Device AmdgpuSource::identify_device(int index, const Wanted&) {
  Card& card = cards_[static_cast<std::size_t>(index)];
  Device& device = card.facts;
  if (device.name == Reading<std::string>(Absent::not_sampled)) {
    device.kind = DeviceKind::amd_gpu;
    device.unusable_because = std::string(not_given_yet);
    device.pci_address = card.address;
    device.name = line_of(card.folder + "/product_name");
    device.vbios_version = line_of(card.folder + "/vbios_version");
    device.serial = line_of(card.folder + "/serial_number");
    // An APU and many cards have none or 0; all partitions of a card have the same.
    const Reading<std::string> unique = line_of(card.folder + "/unique_id");
    const bool has_one = unique.get() && unique.get()->find_first_not_of('0') != std::string::npos;
    device.uuid = has_one ? Reading<std::string>("GPU-" + *unique.get()) : Absent::unsupported;
    device.id = DeviceId(has_one ? *device.uuid.get() : card.address);
    device.minor_number = Absent::unsupported;
    for (const std::string& name :
         list_directory(card.folder + "/drm").value_or(std::vector<std::string>{})) {
      constexpr std::string_view render = "renderD";
      const auto number =
          name.starts_with(render) ? parse_unsigned(name.substr(render.size())) : std::nullopt;
      if (number) device.minor_number = *number;
    }
  }
  device.index = index;
  device.runtime_index = card.node ? std::optional(card.node->runtime_index) : std::nullopt;
  return device;
}

DeviceLook AmdgpuSource::observe_device(int index, const Wanted& wanted, WallTime) {
  const Device facts = identify_device(index, wanted);
  const Card& card = cards_[static_cast<std::size_t>(index)];
  DeviceLook look;
  look.devices.push_back(only_facts(facts, Absent::unsupported));
  Device& device = look.devices.front();
  read_memory(card.folder, device);
  if (!wanted.has(Extra::sleepers) && is_suspended(card.folder)) {
    device.unusable_because = std::string(asleep);
  } else {
    device.utilization_gpu = busy_of(card.folder + "/gpu_busy_percent");
    device.utilization_memory = busy_of(card.folder + "/mem_busy_percent");
    device.pcie_replays = number_of(card.folder + "/pcie_replay_count");
    if (const auto sensors = sensors_of(card.folder)) read_sensors(*sensors, device);
  }
  read_processes(card, look);
  return look;
}

void AmdgpuSource::read_processes(const Card& card, DeviceLook& look) const {
  Device& device = look.devices.front();
  const std::string folder = sys_ + "/class/kfd/kfd/proc";
  const auto entries = list_directory(folder);
  if (!entries || !card.node || card.node->gpu_id.empty()) {
    device.process_count = entries ? Absent::unsupported : why_absent(entries.error());
    return;
  }
  for (const std::string& entry : *entries) {
    const auto pid = parse_unsigned(entry);
    if (!pid) continue;
    const Reading<std::uint64_t> memory =
        number_of(folder + "/" + entry + "/vram_" + card.node->gpu_id);
    // Who has the driver open is listed for every card, with nothing on most.
    if (!memory.get() || *memory.get() == 0) continue;
    GpuProcess process;
    process.device = device.id;
    process.pid = static_cast<pid_t>(*pid);
    process.memory = Bytes{*memory.get()};
    look.processes.push_back(std::move(process));
  }
  device.process_count = look.processes.size();
}

Device AmdgpuSource::skipped_device(int index) const {
  const Card& card = cards_[static_cast<std::size_t>(index)];
  Device device = only_facts(card.facts, Absent::failed);
  if (device.id.text().empty()) device.id = DeviceId(card.address);
  device.kind = DeviceKind::amd_gpu;
  device.index = index;
  device.pci_address = card.address;
  return device;
}

}  // namespace berth
