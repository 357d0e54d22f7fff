// The devices of two manifests.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"
#include "record/run_record.h"

namespace berth {

namespace {

constexpr DifferenceKind cpu_or_gpu{
    "cpu_or_gpu", Explains::results,
    as_key("A CPU and a GPU have other kernels and sum in another order. The last digits differ, "
           "and the difference grows.")};
constexpr DifferenceKind model{
    "device_model", Explains::results,
    as_key("Another model has other kernels, other units (TF32, FP8) and another order of sums. "
           "The last digits differ, and the difference grows.")};
constexpr DifferenceKind count{
    "device_count", Explains::results,
    as_key("Divided among another number of devices the batch is another one, or its parts are "
           "summed in another order.")};
constexpr DifferenceKind division{
    "device_kind", Explains::results,
    as_key("A part of a card (MIG) has fewer multiprocessors: libraries choose other kernels.")};
constexpr DifferenceKind promise{
    "promised_memory", Explains::results,
    as_key("What sizes its batches or its cache by free memory computes with other sizes.")};
constexpr DifferenceKind memory{
    "device_memory", Explains::speed,
    as_key("More or less memory does not change a sum, unless sizes are chosen by it.")};
constexpr DifferenceKind settings{
    "device_settings", Explains::speed,
    as_key("How the card is set and connected changes how fast it is, not what it computes.")};
constexpr DifferenceKind identity{
    "device_identity", Explains::speed,
    as_key("Another card of the same model computes the same, at its own temperature and clocks.")};

/// Each different value once, in their order; unknown where one is.
Told each_once(const std::vector<Told>& all) {
  std::vector<std::string> values;
  for (const Told& one : all) {
    if (!one.value) return one;
    std::string value = one.value->english();
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  }
  if (values.size() == 1) return all.front();
  return told(joined(values, ", "));
}

/// What all devices say of one thing.
template <class Text>
Told of_all(const std::vector<Device>& devices, Text text) {
  std::vector<Told> all;
  for (const Device& device : devices) all.push_back(text(device));
  return each_once(all);
}

Told models_of(const std::vector<Device>& devices) {
  return of_all(devices, [](const Device& device) { return told(device.name); });
}

/// Those of a place that are most like a run's: the same cards, else cards of the same model.
std::vector<Device> most_like(const std::vector<Device>& wanted, const std::vector<Device>& there) {
  std::vector<Device> same;
  for (const Device& device : there) {
    const bool is_given = std::ranges::find(wanted, device.id, &Device::id) != wanted.end();
    if (is_given) same.push_back(device);
  }
  if (!same.empty() || wanted.empty()) return same;
  for (const Device& device : there) {
    const bool alike = device.name.get() && std::ranges::any_of(wanted, [&](const Device& one) {
                         return one.name == device.name;
                       });
    if (alike) same.push_back(device);
  }
  return same.empty() ? there : same;
}

Told on_or_off(const Reading<bool>& reading) {
  return told(reading, [](bool on) { return on ? sentence("on") : sentence("off"); });
}

void compare_facts(const std::vector<Device>& a, const std::vector<Device>& b, Comparison& into) {
  const auto compare = [&](const DifferenceKind& kind, const Sentence& what, auto text) {
    into.compare(kind, what, of_all(a, text), of_all(b, text));
  };
  const auto number = [](std::string_view unit) {
    return [unit](auto value) {
      if constexpr (requires { value.count(); }) {
        return fmt::format("{}{}", value.count(), unit);
      } else {
        return fmt::format("{}{}", value, unit);
      }
    };
  };
  compare(model, sentence("compute capability"),
          [](const Device& device) { return told(device.compute_capability, capability_text); });
  compare(division, sentence("kind of device"), [](const Device& device) {
    return told(device.parent ? sentence("MIG instance") : sentence("whole card"));
  });
  compare(memory, sentence("device memory"),
          [](const Device& device) { return told(device.memory_total, short_size); });
  compare(settings, sentence("power limit"), [](const Device& device) {
    return told(device.power_limit,
                [](Milliwatts limit) { return fmt::format("{} W", (limit.count() + 500) / 1000); });
  });
  compare(settings, sentence("highest SM clock"),
          [&](const Device& device) { return told(device.clock_sm_max, number(" MHz")); });
  compare(settings, sentence("highest memory clock"),
          [&](const Device& device) { return told(device.clock_memory_max, number(" MHz")); });
  compare(settings, sentence("PCIe generation"),
          [&](const Device& device) { return told(device.pcie_generation_max, number("")); });
  compare(settings, sentence("PCIe width"),
          [&](const Device& device) { return told(device.pcie_width, number("")); });
  compare(settings, sentence("NUMA node"),
          [&](const Device& device) { return told(device.numa_node, number("")); });
  compare(settings, sentence("ECC"),
          [](const Device& device) { return on_or_off(device.ecc_mode); });
  compare(settings, sentence("persistence mode"),
          [](const Device& device) { return on_or_off(device.persistence_mode); });
  compare(settings, sentence("VBIOS"),
          [](const Device& device) { return told(device.vbios_version); });
}

Told promised_of(const Manifest& manifest) {
  std::vector<Told> all;
  for (const auto& bytes : manifest.promised) {
    all.push_back(bytes ? told(short_size(*bytes)) : told(sentence("the whole device")));
  }
  return each_once(all);
}

Told kind_of_processor(const Manifest& manifest) {
  return told(computes_on_cpu(manifest) ? sentence("CPU") : sentence("GPU"));
}

}  // namespace

void compare_devices(const Manifest& a, const Manifest& b, Comparison& into) {
  const bool both_runs = is_of_run(a) && is_of_run(b);
  if (both_runs) {
    into.compare(cpu_or_gpu, sentence("computed on"), kind_of_processor(a), kind_of_processor(b));
  }
  std::vector<Device> of_a = a.given.devices;
  std::vector<Device> of_b = b.given.devices;
  if (is_of_run(a) && !is_of_run(b)) of_b = most_like(of_a, of_b);
  if (is_of_run(b) && !is_of_run(a)) of_a = most_like(of_b, of_a);
  if (of_a.empty() || of_b.empty()) return;
  into.compare(model, sentence("GPU model"), models_of(of_a), models_of(of_b));
  if (is_of_run(a) == is_of_run(b)) {
    into.compare(count, sentence("number of devices"), told(std::to_string(of_a.size())),
                 told(std::to_string(of_b.size())));
  }
  compare_facts(of_a, of_b, into);
  if (both_runs) into.compare(promise, sentence("memory promised"), promised_of(a), promised_of(b));
  if (models_of(of_a).value != models_of(of_b).value) return;  // then the cards are others anyway
  const auto uuid = [](const Device& device) { return told(device.id.text()); };
  into.compare(identity, sentence("the cards"), of_all(of_a, uuid), of_all(of_b, uuid));
}

}  // namespace berth
