// A libdcmi.so that plays the Ascend chips of a snapshot (BERTH_FAKE_DCMI=FILE) behind the real
// one's binary interface (probe/dcmi/abi.h). A card has BERTH_FAKE_DCMI_CHIPS of them, 1 unless
// said. BERTH_FAKE_DCMI_FAULTS says what to do wrong, as for the fake NVML. Or it is "@FILE", which
// is read at every call. A chip is "CARD.CHIP".

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "faults.h"
#include "probe/dcmi/abi.h"
#include "snapshot/json.h"

namespace {

using fake_nvml::Fault;

constexpr int invalid_parameter = -8001;
constexpr int not_supported = berth::dcmi::not_supported;
constexpr int failed = -8005;

struct Played {
  berth::Snapshot snapshot;
  std::vector<berth::Device> chips;
  int chips_of_card = 1;
};

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Played load() {
  Played played;
  const auto chips = berth::parse_unsigned(setting("BERTH_FAKE_DCMI_CHIPS"));
  played.chips_of_card = static_cast<int>(std::max<std::uint64_t>(chips.value_or(1), 1));
  const auto text = berth::read_file(setting("BERTH_FAKE_DCMI"), 64 << 20);
  auto read = text ? berth::snapshot_from_json(*text) : std::unexpected(text.error());
  if (!read) {
    std::fprintf(stderr, "fake DCMI: %s\n", read.error().message().c_str());
    return played;
  }
  played.snapshot = std::move(*read);
  for (const berth::Device& device : played.snapshot.devices) {
    if (device.kind == berth::DeviceKind::ascend_npu) played.chips.push_back(device);
  }
  return played;
}

const Played& played() {
  static const Played the_machine = load();
  return the_machine;
}

std::vector<Fault> current_faults() {
  const std::string text = setting("BERTH_FAKE_DCMI_FAULTS");
  if (!text.starts_with('@')) return fake_nvml::parse_faults(text);
  return fake_nvml::parse_faults(berth::read_file(text.substr(1)).value_or(""));
}

int code_of(berth::Absent why) {
  return why == berth::Absent::unsupported ? not_supported : failed;
}

/// What a fault makes of a call; 0: it goes on. A lie is in `lie`.
int wrong(const char* function, const std::string& chip, std::optional<int>* lie = nullptr) {
  const std::vector<Fault> faults = current_faults();
  const Fault* fault = fake_nvml::find_fault(faults, function, chip);
  if (fault == nullptr) return 0;
  while (std::holds_alternative<fake_nvml::Hang>(fault->what)) ::pause();
  if (const auto* sleep = std::get_if<fake_nvml::Sleep>(&fault->what)) {
    std::this_thread::sleep_for(sleep->how_long);
  }
  if (const auto* told = std::get_if<fake_nvml::Lie>(&fault->what); told && lie != nullptr) {
    *lie = std::atoi(told->value.c_str());
  }
  const auto* code = std::get_if<int>(&fault->what);
  return code == nullptr ? 0 : *code;
}

/// The chip of a call, which may go on as answer(chip).
template <class Answer>
int of_chip(const char* function, int card, int chip, Answer answer) {
  if (const int code = wrong(function, std::to_string(card) + "." + std::to_string(chip))) {
    return code;
  }
  const auto place = static_cast<std::size_t>(card * played().chips_of_card + chip);
  if (card < 0 || chip < 0 || chip >= played().chips_of_card || place >= played().chips.size()) {
    return invalid_parameter;
  }
  return answer(played().chips[place]);
}

/// What a program calls it.
int logic_id(const berth::Device& device) {
  return device.runtime_index ? *device.runtime_index : device.index.value_or(-1);
}

/// A call that tells one number.
template <class Out, class Reading, class Convert>
int number(const char* function, int card, int chip, Reading berth::Device::* member, Out* out,
           Convert convert) {
  return of_chip(function, card, chip, [&](const berth::Device& device) {
    const auto& reading = device.*member;
    std::optional<int> lie;
    (void)wrong(function, std::to_string(card) + "." + std::to_string(chip), &lie);
    if (!reading.get() && !lie) return code_of(reading.why());
    *out = lie ? static_cast<Out>(*lie) : static_cast<Out>(convert(*reading.get()));
    return 0;
  });
}

unsigned long long megabytes(const berth::Reading<berth::Bytes>& reading) {
  return reading.get() ? reading.get()->count() >> 20U : 0;
}

unsigned hexadecimal(const std::string& text, std::size_t from, std::size_t length) {
  if (from >= text.size()) return 0;
  return static_cast<unsigned>(std::strtoul(text.substr(from, length).c_str(), nullptr, 16));
}

}  // namespace

#define FAKE_DCMI extern "C" __attribute__((visibility("default"))) int

FAKE_DCMI dcmi_init() { return wrong("dcmi_init", ""); }

FAKE_DCMI dcmi_get_card_list(int* count, int* cards, int most) {
  if (const int code = wrong(__func__, "")) return code;
  const auto chips = static_cast<int>(played().chips.size());
  *count = (chips + played().chips_of_card - 1) / played().chips_of_card;
  for (int card = 0; card < std::min(*count, most); ++card) cards[card] = card;
  return 0;
}

FAKE_DCMI dcmi_get_device_num_in_card(int card, int* count) {
  if (const int code = wrong(__func__, std::to_string(card))) return code;
  *count = played().chips_of_card + 1;  // and the card's own controller
  return 0;
}

FAKE_DCMI dcmi_get_device_type(int card, int chip, int* type) {
  const auto place = static_cast<std::size_t>(card * played().chips_of_card + chip);
  if (chip < played().chips_of_card && place >= played().chips.size()) return invalid_parameter;
  *type = chip < played().chips_of_card ? berth::dcmi::unit_is_npu : 1;
  return 0;
}

FAKE_DCMI dcmi_get_device_logic_id(int* logic, int card, int chip) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    *logic = logic_id(device);
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_phyid_from_logicid(unsigned logic, unsigned* physical) {
  for (const berth::Device& device : played().chips) {
    if (logic_id(device) != static_cast<int>(logic) || !device.minor_number.get()) continue;
    *physical = static_cast<unsigned>(*device.minor_number.get());
    return 0;
  }
  return invalid_parameter;
}

FAKE_DCMI dcmi_get_device_chip_info_v2(int card, int chip, dcmi_chip_info_v2* info) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.name.get()) return code_of(device.name.why());
    const std::string name = device.name.get()->substr(std::string_view("Ascend ").size());
    std::memset(info, 0, sizeof *info);
    std::memcpy(info->chip_name, name.data(), std::min(name.size(), sizeof info->chip_name));
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_pcie_info_v2(int card, int chip, dcmi_pcie_info_all* info) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.pci_address.get()) return code_of(device.pci_address.why());
    const std::string& address = *device.pci_address.get();  // "00000000:c1:00.0"
    *info = {};
    info->venderid = 0x19e5;
    info->domain = static_cast<int>(hexadecimal(address, 0, 8));
    info->bdf_busid = hexadecimal(address, 9, 2);
    info->bdf_deviceid = hexadecimal(address, 12, 2);
    info->bdf_funcid = hexadecimal(address, 15, 1);
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_die_v2(int card, int chip, int, dcmi_die_id* die) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.uuid.get()) return code_of(device.uuid.why());
    for (std::size_t part = 0; part < 5; ++part) {  // "NPU-e0f4ee64-…"
      die->soc_die[part] = hexadecimal(*device.uuid.get(), 4 + part * 9, 8);
    }
    return 0;
  });
}

FAKE_DCMI dcmi_get_card_elabel_v2(int card, dcmi_elabel_info* label) {
  return of_chip(__func__, card, 0, [&](const berth::Device& device) {
    if (!device.serial.get()) return code_of(device.serial.why());
    *label = {};
    std::snprintf(label->serial_number, sizeof label->serial_number, "%s",
                  device.serial.get()->c_str());
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_hbm_info(int card, int chip, dcmi_hbm_info* hbm) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.memory_total.get()) return code_of(device.memory_total.why());
    const auto& heat = device.temperature_memory.get();
    *hbm = {
        .memory_size = megabytes(device.memory_total),
        .freq = 1600,
        .memory_usage = megabytes(device.memory_used),
        .temp = heat ? static_cast<int>(heat->count()) : -1,
        .bandwith_util_rate = device.utilization_memory.get()
                                  ? static_cast<unsigned>(device.utilization_memory.get()->count())
                                  : ~0U};
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_memory_info_v3(int card, int chip, dcmi_get_memory_info_stru* memory) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.memory_total.get()) return code_of(device.memory_total.why());
    *memory = {};
    memory->memory_size = megabytes(device.memory_total);
    memory->memory_available = megabytes(device.memory_free);
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_utilization_rate(int card, int chip, int type, unsigned* percent) {
  if (type != berth::dcmi::load_of_cores) return not_supported;
  return number(__func__, card, chip, &berth::Device::utilization_gpu, percent,
                [](berth::Percent load) { return load.count(); });
}

FAKE_DCMI dcmi_get_device_power_info(int card, int chip, int* tenths) {
  return number(__func__, card, chip, &berth::Device::power_draw, tenths,
                [](berth::Milliwatts power) { return power.count() / 100; });
}

FAKE_DCMI dcmi_get_device_temperature(int card, int chip, int* celsius) {
  return number(__func__, card, chip, &berth::Device::temperature, celsius,
                [](berth::Celsius heat) { return heat.count(); });
}

FAKE_DCMI dcmi_get_device_frequency(int card, int chip, int type, unsigned* megahertz) {
  const auto told = [](berth::Megahertz clock) { return clock.count(); };
  switch (type) {
    case berth::dcmi::clock_now:
      return number(__func__, card, chip, &berth::Device::clock_graphics, megahertz, told);
    case berth::dcmi::clock_max:
      return number(__func__, card, chip, &berth::Device::clock_graphics_max, megahertz, told);
    default:
      return not_supported;
  }
}

FAKE_DCMI dcmi_get_device_health(int card, int chip, unsigned* health) {
  return of_chip(__func__, card, chip, [&](const berth::Device&) {
    std::optional<int> lie;
    (void)wrong("dcmi_get_device_health", std::to_string(card) + "." + std::to_string(chip), &lie);
    *health = static_cast<unsigned>(lie.value_or(0));
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_ecc_info(int card, int chip, int, dcmi_ecc_info* ecc) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    if (!device.ecc_mode.get()) return code_of(device.ecc_mode.why());
    *ecc = {};
    ecc->enable_flag = *device.ecc_mode.get() ? 1 : 0;
    ecc->single_bit_error_cnt = static_cast<unsigned>(device.ecc_corrected.get().value_or(0));
    ecc->double_bit_error_cnt = static_cast<unsigned>(device.ecc_uncorrected.get().value_or(0));
    return 0;
  });
}

FAKE_DCMI dcmi_get_device_resource_info(int card, int chip, dcmi_proc_mem_info* told, int* count) {
  return of_chip(__func__, card, chip, [&](const berth::Device& device) {
    *count = 0;
    for (const berth::GpuProcess& process : played().snapshot.gpu_processes) {
      if (process.device != device.id || !process.memory.get()) continue;
      told[(*count)++] = {.proc_id = process.pid, .proc_mem_usage = process.memory.get()->count()};
    }
    return 0;
  });
}

// Its signatures are those that berth calls.
[[maybe_unused]] static const berth::dcmi::Api pinned = {
#define FAKE_DCMI_MEMBER(name, parameters) .name = name,
    BERTH_DCMI_FUNCTIONS(FAKE_DCMI_MEMBER)
#undef FAKE_DCMI_MEMBER
};
