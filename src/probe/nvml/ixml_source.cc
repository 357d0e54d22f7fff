#include "probe/nvml/ixml_source.h"

#include <array>
#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/bus.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

constexpr std::uint32_t iluvatar = 0x1e3e;
constexpr std::array<std::string_view, 2> places = {"/usr/local/corex/lib64/libixml.so",
                                                    "/usr/local/corex/lib/libixml.so"};

/// NVML's unit is milliwatts, and ixML's documents say watts. No card draws less than a watt.
void scale_power(Reading<Milliwatts>& power) {
  constexpr std::uint64_t milliwatts = 1000;
  const auto& told = power.get();
  if (told && told->count() < milliwatts) power = Milliwatts{told->count() * milliwatts};
}

Device as_iluvatars(Device device) {
  device.kind = DeviceKind::iluvatar_gpu;
  device.runtime_index = device.index;
  // By its address, as where the library is not there: a lease has to mean the same card.
  if (device.pci_address.get()) device.id = DeviceId(*device.pci_address.get());
  scale_power(device.power_draw);
  scale_power(device.power_limit);
  scale_power(device.power_limit_default);
  return device;
}

Problem as_iluvatars(Problem problem) {
  problem.source = std::string(facts_of(DeviceKind::iluvatar_gpu).source);
  problem.remedy = sentence("look at what ixsmi and the kernel log say");
  return problem;
}

}  // namespace

std::optional<std::string> IxmlSource::library_in(const std::string& root) {
  for (const std::string_view place : places) {
    std::string path = root + std::string(place);
    if (is_there(path)) return path;
  }
  return std::nullopt;
}

bool IxmlSource::sees_any(const Sources& sources, const pci::Makers& makers) {
  if (!pci::may_have(makers, iluvatar) || !library_in(sources.root)) return false;
  return sysfs::has_function_of(iluvatar, pci::is_wanted_class, sources.sys);
}

// The version files and the list of cards below /proc are NVIDIA's.
IxmlSource::IxmlSource(const Sources& sources)
    : probe_(NvmlSource{
          .library = library_in(sources.root).value_or(sources.root + std::string(places.front())),
          .proc = "/nonexistent",
          .sys = sources.sys,
          .maker = "Iluvatar"}) {}

std::expected<int, Problem> IxmlSource::open() {
  auto count = probe_.open();
  if (!count) return std::unexpected(as_iluvatars(std::move(count).error()));
  return count;
}

Device IxmlSource::identify_device(int index, const Wanted& wanted) {
  return as_iluvatars(probe_.identify_device(index, wanted));
}

DeviceLook IxmlSource::observe_device(int index, const Wanted& wanted, WallTime taken) {
  DeviceLook look = probe_.observe_device(index, wanted, taken);
  for (Device& device : look.devices) {
    const DeviceId before = device.id;
    device = as_iluvatars(std::move(device));
    for (GpuProcess& process : look.processes) {
      if (process.device == before) process.device = device.id;
    }
    for (Problem& problem : look.problems) {
      if (problem.device == before) problem.device = device.id;
    }
  }
  for (Problem& problem : look.problems) problem = as_iluvatars(std::move(problem));
  return look;
}

Device IxmlSource::skipped_device(int index) const {
  return as_iluvatars(probe_.skipped_device(index));
}

}  // namespace berth
