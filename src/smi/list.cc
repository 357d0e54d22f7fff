// -L, -B and --version: what there is, without how it is.

#include <fmt/format.h>

#include "base/text.h"
#include "smi/facts.h"
#include "smi/format.h"
#include "smi/generation.h"
#include "smi/smi.h"

namespace berth::smi {

namespace {

/// "3g.40gb" of "NVIDIA H100 80GB HBM3 MIG 3g.40gb".
std::string profile_of(const Device& instance) {
  constexpr std::string_view mark = "MIG ";
  const std::string name = printable(instance.name.get().value_or("N/A"));
  const std::size_t at = name.rfind(mark);
  return at == std::string::npos ? "N/A" : name.substr(at + mark.size());
}

/// The library calls itself "13.595.71.05" where the tool prints "595.71".
std::string nvml_version_text(const Snapshot& snapshot) {
  const auto& whole = snapshot.host.software_of(Runtime::cuda).library.get();
  if (!whole) return "N/A";
  auto parts = split(*whole, '.');
  constexpr std::uint64_t first_driver = 100;
  if (parts.size() > 2 && parse_unsigned(parts.front()).value_or(first_driver) < first_driver) {
    parts.erase(parts.begin());
  }
  if (parts.size() < 2) return printable(*whole);
  return fmt::format("{}.{}", parts[0], parts[1]);
}

std::string version_line(std::string_view name, std::string_view value) {
  return fmt::format("{:<20}: {}\n", name, value);
}

}  // namespace

std::string render_list(const Snapshot& snapshot, const SmiRequest& request) {
  std::string text;
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    text += list_line(*gpu);  // `wc -l` counts the cards
    int number = 0;
    for (const Device* instance : instances_of(*gpu, snapshot)) {
      text += fmt::format("  MIG {:<11} Device {:>2}: (UUID: {})\n", profile_of(*instance),
                          number++, instance->uuid.get().value_or("N/A"));
    }
  }
  return text;
}

Output render_excluded(const Snapshot& snapshot) {
  constexpr int not_available = 3;
  const auto& excluded = snapshot.host.excluded_devices;
  // A server that is made up has the devices that it shows, and no others.
  if (!excluded.get() && !snapshot.simulated) {
    return {.text = fmt::format("Excluded devices are not known: {}. Ask nvidia-smi itself, "
                                "usually: /usr/bin/nvidia-smi -B\n",
                                name_of(excluded.why())),
            .code = not_available};
  }
  std::string text;
  int number = 0;
  for (const ExcludedDevice& one : excluded.get().value_or(std::vector<ExcludedDevice>{})) {
    const std::string place = shown(Scalar(one.pci_address), Format::bus_id, Surface::text);
    text += fmt::format("Excluded GPU {}: {} (UUID: {})\n", number++, place, printable(one.uuid));
  }
  return {.text = text.empty() ? "No excluded devices found.\n" : text};
}

std::string render_version(const Snapshot& snapshot) {
  const std::string driver =
      printable(snapshot.host.software_of(Runtime::cuda).driver.get().value_or("N/A"));
  const std::string cuda = snapshot.host.software_of(Runtime::cuda).runtime.get().value_or("N/A");
  std::string text = version_line("NVIDIA-SMI version", driver) +
                     version_line("NVML version", nvml_version_text(snapshot));
  if (!generation_of(snapshot).names_twice) {
    return text + version_line("DRIVER version", driver) + version_line("CUDA Version", cuda);
  }
  return text + version_line("DRIVER version", "Deprecated, see \"KMD version\" instead") +
         version_line("CUDA version", "Deprecated, see \"CUDA UMD version\" instead") +
         version_line("KMD version", driver) + version_line("CUDA UMD version", cuda);
}

}  // namespace berth::smi
