#include "probe/dcmi/dcmi_source.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/bus.h"
#include "probe/sysfs/files.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 2> places_of_library = {
    "/usr/local/dcmi/libdcmi.so", "/usr/local/Ascend/driver/lib64/driver/libdcmi.so"};
constexpr std::string_view version_file = "/usr/local/Ascend/driver/version.info";

Absent absence_of(int code) {
  return code == dcmi::not_supported ? Absent::unsupported : Absent::failed;
}

/// What a call puts into `value`; the reason where it fails or does not exist.
template <class Value, class Function, class... Words>
Reading<Value> asked(Function function, Words... words) {
  if (function == nullptr) return Absent::unsupported;
  Value value{};
  const int code = function(words..., &value);
  return code == dcmi::succeeded ? Reading<Value>(value) : absence_of(code);
}

template <class T>
Reading<T> quantity_of(const Reading<unsigned>& told, std::uint64_t times, std::uint64_t most) {
  if (!told.get()) return told.why();
  if (*told.get() > most) return Absent::failed;
  return T(static_cast<typename T::rep>(*told.get() * times));
}
template <class T>
Reading<T> quantity_of(const Reading<int>& told, std::uint64_t times, std::uint64_t most) {
  if (!told.get()) return told.why();
  if (*told.get() < 0) return Absent::failed;
  return quantity_of<T>(Reading<unsigned>(static_cast<unsigned>(*told.get())), times, most);
}

template <std::size_t Size, class Character>
std::string text_in(const Character (&field)[Size]) {
  const auto* text = reinterpret_cast<const char*>(field);
  const auto* end = std::find(text, text + Size, '\0');
  return printable(trimmed(std::string_view(text, static_cast<std::size_t>(end - text))));
}

/// "NPU-e0f4ee64-802061b1-6a691492-89528485-104301e3".
Reading<std::string> uuid_of(const Reading<dcmi_die_id>& die) {
  if (!die.get()) return die.why();
  const auto& parts = die.get()->soc_die;
  if (std::ranges::all_of(parts, [](unsigned part) { return part == 0; })) {
    return Absent::unsupported;
  }
  std::string uuid = "NPU";
  for (const unsigned part : parts) uuid += fmt::format("-{:08x}", part);
  return uuid;
}

/// Whether it may be there at the next look.
bool may_be_told(const Reading<std::string>& reading) {
  return !reading.get() && reading.why() != Absent::unsupported;
}

Problem problem(std::string code, Sentence message, std::string_view remedy) {
  return {.source = "dcmi",
          .code = std::move(code),
          .message = std::move(message),
          .remedy = Sentence(remedy)};
}

}  // namespace

bool DcmiSource::sees_any(const Sources& sources, const pci::Makers& makers) {
  constexpr std::uint32_t accelerator = 0x1200;
  constexpr std::uint32_t huawei = 0x19e5;
  if (!pci::may_have(makers, huawei)) return false;
  const auto is_accelerator = [](std::uint32_t pci_class) {
    return pci_class >> 8U == accelerator;
  };
  return sysfs::has_function_of(huawei, is_accelerator, sources.sys);
}

std::optional<Problem> DcmiSource::load() {
  if (api_) return std::nullopt;
  constexpr std::string_view install = as_key("install the Ascend driver, or mount its folders");
  std::string said;
  for (const std::string_view place : places_of_library) {
    const std::string path = root_ + std::string(place);
    if (!is_there(path)) continue;
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      const char* error = ::dlerror();
      said = error != nullptr ? error : path;
      continue;
    }
    api_.emplace();
#define BERTH_DCMI_RESOLVE(name, parameters) \
  api_->name = reinterpret_cast<int(*) parameters>(::dlsym(library, #name));
    BERTH_DCMI_FUNCTIONS(BERTH_DCMI_RESOLVE)
#undef BERTH_DCMI_RESOLVE
    return std::nullopt;
  }
  if (!said.empty())
    return problem("library_not_loadable", Sentence::as_is(std::move(said)), install);
  return problem("library_not_found", sentence("{} is not there", places_of_library.front()),
                 install);
}

std::expected<int, Problem> DcmiSource::open() {
  if (auto failure = load()) return std::unexpected(*std::move(failure));
  constexpr std::string_view look = as_key("look at `npu-smi info` and the kernel log");
  if (!is_started_) {
    const int code = api_->dcmi_init == nullptr ? dcmi::not_supported : api_->dcmi_init();
    if (code != dcmi::succeeded) {
      return std::unexpected(problem("init_failed", sentence("dcmi_init failed: {}", code), look));
    }
    is_started_ = true;
  }
  // What could not be listed for a moment is not gone.
  if (auto listed = list_chips()) chips_ = *std::move(listed);
  if (chips_.empty()) {
    return std::unexpected(problem("no_devices", sentence("libdcmi lists no chip"), look));
  }
  return static_cast<int>(chips_.size());
}

std::optional<std::vector<DcmiSource::Chip>> DcmiSource::list_chips() const {
  constexpr int most = 64;
  std::array<int, most> cards{};
  int count = 0;
  if (api_->dcmi_get_card_list == nullptr ||
      api_->dcmi_get_card_list(&count, cards.data(), most) != dcmi::succeeded) {
    return std::nullopt;
  }
  std::vector<Chip> listed;
  for (int i = 0; i < std::clamp(count, 0, most); ++i) {
    const int card = cards[static_cast<std::size_t>(i)];
    constexpr int most_chips = 8;
    const auto chips = asked<int>(api_->dcmi_get_device_num_in_card, card);
    const int count_or_most = chips.get().value_or(most_chips);
    for (int number = 0; number < std::clamp(count_or_most, 0, most_chips); ++number) {
      const auto known = std::ranges::find_if(
          chips_, [&](const Chip& one) { return one.card == card && one.number == number; });
      const auto type = asked<int>(api_->dcmi_get_device_type, card, number);
      // What is not told for a moment is as it was.
      if (known != chips_.end() && (!type.get() || *type.get() == dcmi::unit_is_npu)) {
        listed.push_back(*known);
      } else if (chips.get() && type.get() == dcmi::unit_is_npu) {
        listed.push_back({.card = card, .number = number});
      }
    }
  }
  return listed;
}

void DcmiSource::observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) {
  if (!wanted.has(Extra::driver_version)) return;
  Reading<std::string>& driver = host.software_of(Runtime::cann).driver;
  const auto text = read_file(root_ + std::string(version_file), 1 << 16);
  driver = text ? Absent::failed : sysfs::why_absent(text.error());
  constexpr std::string_view key = "Version=";
  const std::string told = text.value_or("");
  for (const std::string_view line : split(told, '\n')) {
    if (line.starts_with(key)) driver = printable(trimmed(line.substr(key.size())));
  }
}

void DcmiSource::read_facts(Chip& chip) const {
  Device& device = chip.facts;
  device.kind = DeviceKind::ascend_npu;
  const auto info =
      asked<dcmi_chip_info_v2>(api_->dcmi_get_device_chip_info_v2, chip.card, chip.number);
  if (info.get()) {
    const std::string named = text_in(info.get()->npu_name);
    const std::string chip_name = text_in(info.get()->chip_name);
    device.name = "Ascend " + (named.empty() ? chip_name : named);
  } else {
    device.name = info.why();
  }
  const auto bus =
      asked<dcmi_pcie_info_all>(api_->dcmi_get_device_pcie_info_v2, chip.card, chip.number);
  if (bus.get()) {
    device.pci_address = fmt::format("{:08x}:{:02x}:{:02x}.{:x}", bus.get()->domain & 0xffff,
                                     bus.get()->bdf_busid & 0xffU, bus.get()->bdf_deviceid & 0x1fU,
                                     bus.get()->bdf_funcid & 7U);
  } else {
    device.pci_address = bus.why();
  }
  device.uuid = uuid_of(asked<dcmi_die_id>(api_->dcmi_get_device_die_v2, chip.card, chip.number,
                                           static_cast<int>(dcmi::die_of_the_chip)));
  const auto label = asked<dcmi_elabel_info>(api_->dcmi_get_card_elabel_v2, chip.card);
  const std::string serial = label.get() ? text_in(label.get()->serial_number) : "";
  device.serial = serial.empty() ? Reading<std::string>(Absent::unsupported) : serial;
  const std::string place = fmt::format("npu-{}-{}", chip.card, chip.number);
  device.id = DeviceId(device.uuid.get().value_or(device.pci_address.get().value_or(place)));
  int logic = 0;
  const bool has_logic =
      api_->dcmi_get_device_logic_id != nullptr &&
      api_->dcmi_get_device_logic_id(&logic, chip.card, chip.number) == dcmi::succeeded &&
      logic >= 0;
  device.runtime_index = has_logic ? std::optional(logic) : std::nullopt;
  const auto physical = has_logic ? asked<unsigned>(api_->dcmi_get_device_phyid_from_logicid,
                                                    static_cast<unsigned>(logic))
                                  : Reading<unsigned>(Absent::failed);
  device.minor_number = physical.get() ? Reading<std::uint64_t>(*physical.get())
                                       : Reading<std::uint64_t>(physical.why());
  // Its number among all would be another's to CANN.
  const bool is_unread = may_be_told(device.uuid) ||
                         (!device.uuid.get() && may_be_told(device.pci_address)) || !has_logic;
  device.unusable_because = is_unread ? Unusable::unanswered : Unusable::none;
  chip.was_on_bus = chip.was_on_bus || is_on_bus(chip);
  chip.is_told = !is_unread && (physical.get() || physical.why() != Absent::failed);
}

Device DcmiSource::identify_device(int index, const Wanted&) {
  Chip& chip = chips_[static_cast<std::size_t>(index)];
  if (!chip.is_told) read_facts(chip);
  chip.facts.index = index;
  return chip.facts;
}

void DcmiSource::read_memory(const Chip& chip, Device& device) const {
  constexpr unsigned megabyte = 20;
  constexpr std::uint64_t most = std::uint64_t{1} << 24U;
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  const auto hbm = asked<dcmi_hbm_info>(api_->dcmi_get_device_hbm_info, chip.card, chip.number);
  if (hbm.get() && hbm.get()->memory_size > 0) {
    total = hbm.get()->memory_size;
    used = hbm.get()->memory_usage;
    device.temperature_memory = quantity_of<Celsius>(Reading<int>(hbm.get()->temp), 1, 250);
    if (hbm.get()->bandwith_util_rate <= 100) {
      device.utilization_memory = Percent{static_cast<double>(hbm.get()->bandwith_util_rate)};
    }
  } else {  // 310 and 310P
    const auto memory = asked<dcmi_get_memory_info_stru>(api_->dcmi_get_device_memory_info_v3,
                                                         chip.card, chip.number);
    if (!memory.get()) {
      device.memory_total = device.memory_used = device.memory_free = memory.why();
      return;
    }
    total = memory.get()->memory_size;
    used = total - std::min(total, static_cast<std::uint64_t>(memory.get()->memory_available));
  }
  if (total == 0 || total > most || used > total) {
    device.memory_total = device.memory_used = device.memory_free = Absent::failed;
    return;
  }
  device.memory_total = Bytes{total << megabyte};
  device.memory_used = Bytes{used << megabyte};
  device.memory_free = Bytes{(total - used) << megabyte};
}

void DcmiSource::read_errors(const Chip& chip, Device& device) const {
  const auto told = asked<dcmi_ecc_info>(api_->dcmi_get_device_ecc_info, chip.card, chip.number,
                                         static_cast<int>(dcmi::memory_hbm));
  if (!told.get()) {
    device.ecc_mode = told.why();
    device.ecc_corrected = device.ecc_uncorrected = told.why();
    return;
  }
  device.ecc_mode = told.get()->enable_flag != 0;
  device.ecc_corrected = std::uint64_t{told.get()->single_bit_error_cnt};
  device.ecc_uncorrected = std::uint64_t{told.get()->double_bit_error_cnt};
  device.details.set(Detail::retired_pages_single_bit,
                     Reading<std::uint64_t>(told.get()->single_bit_isolated_pages_cnt));
  device.details.set(Detail::retired_pages_double_bit,
                     Reading<std::uint64_t>(told.get()->double_bit_isolated_pages_cnt));
}

/// The call is told no length: it gets room for more than there can be.
void DcmiSource::read_processes(const Chip& chip, DeviceLook& look) const {
  Device& device = look.devices.front();
  constexpr int most = 1024;
  std::vector<dcmi_proc_mem_info> told(most);
  int count = 0;
  if (api_->dcmi_get_device_resource_info == nullptr) return;
  const int code = api_->dcmi_get_device_resource_info(chip.card, chip.number, told.data(), &count);
  if (code != dcmi::succeeded || count < 0 || count > most) {
    device.process_count = code != dcmi::succeeded ? absence_of(code) : Absent::failed;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const dcmi_proc_mem_info& one = told[static_cast<std::size_t>(i)];
    if (one.proc_id <= 0) continue;
    GpuProcess process;
    process.device = device.id;
    process.pid = one.proc_id;
    process.memory = Bytes{one.proc_mem_usage};
    process.utilization_sm = Absent::unsupported;
    look.processes.push_back(std::move(process));
  }
  device.process_count = look.processes.size();
}

std::pair<std::optional<unsigned>, bool> DcmiSource::health_of(const Chip& chip) const {
  if (api_->dcmi_get_device_health == nullptr) return {};
  unsigned health = 0;
  const int code = api_->dcmi_get_device_health(chip.card, chip.number, &health);
  if (code == dcmi::succeeded) return {health, false};
  const bool is_said =
      code == dcmi::invalid_device || code == dcmi::no_such_device || code == dcmi::not_ready;
  return {std::nullopt, is_said || (chip.was_on_bus && !is_on_bus(chip))};
}

bool DcmiSource::is_on_bus(const Chip& chip) const {
  const auto& address = chip.facts.pci_address.get();
  constexpr std::size_t digits_left_out = 4;  // of the domain, in /sys
  return address &&
         is_there(sys_ + "/bus/pci/devices/" + std::string(address->substr(digits_left_out)));
}

DeviceLook DcmiSource::observe_device(int index, const Wanted& wanted, WallTime) {
  DeviceLook look;
  look.devices.push_back(only_facts(identify_device(index, wanted), Absent::unsupported));
  Device& device = look.devices.front();
  const Chip& chip = chips_[static_cast<std::size_t>(index)];
  constexpr std::uint64_t most_percent = 100;
  constexpr std::uint64_t most_celsius = 250;
  constexpr std::uint64_t most_tenths = 50'000;
  constexpr std::uint64_t most_megahertz = 20'000;
  constexpr std::uint64_t milliwatts = 100;  // in a tenth of a watt
  const auto [health, is_gone] = health_of(chip);
  if (is_gone) {
    device = only_facts(chip.facts, Absent::failed);
    device.lost = true;
    device.unusable_because = WhyUnusable("it fell off the bus");
    return look;
  }
  const auto load = asked<unsigned>(api_->dcmi_get_device_utilization_rate, chip.card, chip.number,
                                    static_cast<int>(dcmi::load_of_cores));
  device.utilization_gpu = load.get() && *load.get() <= most_percent
                               ? Reading<Percent>(Percent{static_cast<double>(*load.get())})
                           : load.get() ? Reading<Percent>(Absent::failed)
                                        : Reading<Percent>(load.why());
  device.power_draw =
      quantity_of<Milliwatts>(asked<int>(api_->dcmi_get_device_power_info, chip.card, chip.number),
                              milliwatts, most_tenths);
  device.temperature = quantity_of<Celsius>(
      asked<int>(api_->dcmi_get_device_temperature, chip.card, chip.number), 1, most_celsius);
  const auto clock = [&](int which) {
    return quantity_of<Megahertz>(
        asked<unsigned>(api_->dcmi_get_device_frequency, chip.card, chip.number, which), 1,
        most_megahertz);
  };
  device.clock_graphics = clock(dcmi::clock_now);
  device.clock_graphics_max = clock(dcmi::clock_max);
  read_memory(chip, device);
  read_errors(chip, device);
  if (health == dcmi::health_critical) {
    device.unusable_because =
        WhyUnusable(as_key("its own health is critical (npu-smi info -t health)"));
  }
  if (wanted.has(Extra::processes)) read_processes(chip, look);
  return look;
}

Device DcmiSource::skipped_device(int index) const {
  const Chip& chip = chips_[static_cast<std::size_t>(index)];
  Device device = only_facts(chip.facts, Absent::failed);
  device.kind = DeviceKind::ascend_npu;
  if (device.id.text().empty()) {
    device.id = DeviceId(fmt::format("npu-{}-{}", chip.card, chip.number));
  }
  device.index = index;
  return device;
}

}  // namespace berth
