#include "place/visible_others.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Devices = std::vector<const Device*>;

/// Those that a program of the runtime numbers, by number: of a divided card its parts.
Devices numbered(Runtime runtime, const Snapshot& snapshot) {
  Devices devices;
  for (const Device& device : snapshot.devices) {
    const bool is_whole = division_of(device) != Division::divided;
    if (is_of(runtime, device) && is_whole && runtime_number(device)) devices.push_back(&device);
  }
  std::ranges::stable_sort(devices, {}, [](const Device* one) { return runtime_number(*one); });
  return devices;
}

const Device* with_number(std::uint64_t number, const Devices& devices) {
  const auto found = std::ranges::find_if(devices, [&](const Device* one) {
    return static_cast<std::uint64_t>(*runtime_number(*one)) == number;
  });
  return found == devices.end() ? nullptr : *found;
}

bool is_listed(const VisibleDevices& visible, const Device& device) {
  return std::ranges::find(visible.devices, device.id) != visible.devices.end();
}

Sentence stopped(int place, std::string_view entry) {
  return sentence("entry {} (\"{}\") is no device: the list ends there", place, printable(entry));
}

/// "GPU-" and what follows, any case; null: none, or several.
const Device* with_beginning(std::string_view entry, const Devices& devices) {
  constexpr std::size_t mark = 4;
  const Device* found = nullptr;
  const std::string wanted = small_letters(entry);
  if (!wanted.starts_with("gpu-") || wanted.size() == mark) return nullptr;
  for (const Device* device : devices) {
    const auto& uuid = device->uuid.get();
    if (!uuid || !small_letters(*uuid).starts_with(wanted)) continue;
    if (found != nullptr) return nullptr;
    found = device;
  }
  return found;
}

}  // namespace

VisibleDevices parse_rocr_visible_devices(std::string_view list, const Snapshot& snapshot) {
  VisibleDevices visible;
  const Devices devices = numbered(Runtime::rocm, snapshot);
  if (trimmed(list).empty() || trimmed(list) == "-1") return visible;
  int place = 0;
  for (const std::string_view part : split(list, ',')) {
    ++place;
    const std::string_view entry = trimmed(part);
    const auto number = parse_unsigned(entry);
    const Device* device = number ? with_number(*number, devices) : with_beginning(entry, devices);
    if (device == nullptr || is_listed(visible, *device)) {
      visible.remarks.push_back(stopped(place, entry));
      break;
    }
    visible.devices.push_back(device->id);
  }
  return visible;
}

VisibleDevices parse_hip_visible_devices(std::string_view list, const std::vector<DeviceId>& left,
                                         const Snapshot& snapshot) {
  VisibleDevices visible;
  if (list.empty()) {
    visible.devices = left;
    return visible;
  }
  int place = 0;
  for (const std::string_view entry : split(list, ',')) {
    ++place;
    const auto number = parse_unsigned(entry);
    const bool is_plain = number && std::to_string(*number) == entry;
    const Device* device = nullptr;
    if (is_plain && *number < left.size()) device = find_device(left[*number], snapshot);
    for (const DeviceId& id : left) {
      const Device* one = find_device(id, snapshot);
      if (!number && one != nullptr && one->uuid.get() == std::string(entry)) device = one;
    }
    if (device == nullptr || is_listed(visible, *device)) {
      if (trimmed(list) != "-1") visible.remarks.push_back(stopped(place, entry));
      break;
    }
    visible.devices.push_back(device->id);
  }
  return visible;
}

VisibleDevices parse_affinity_mask(std::string_view list, const Snapshot& snapshot) {
  VisibleDevices visible;
  const Devices devices = numbered(Runtime::level_zero, snapshot);
  std::vector<bool> is_named(devices.size(), list.empty());
  int place = 0;
  for (const std::string_view part : split(list, ',')) {
    ++place;
    const std::string_view entry = trimmed(part);
    const auto number = parse_unsigned(entry.substr(0, entry.find('.')));
    const Device* device = number ? with_number(*number, devices) : nullptr;
    const auto at = std::ranges::find(devices, device);
    if (at != devices.end()) {
      is_named[static_cast<std::size_t>(at - devices.begin())] = true;
    } else if (!list.empty() && entry != "-1") {
      visible.remarks.push_back(
          sentence("entry {} (\"{}\") is no device: it is passed over", place, printable(entry)));
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (is_named[i]) visible.devices.push_back(devices[i]->id);
  }
  return visible;
}

VisibleDevices parse_ascend_visible_devices(std::string_view list, const Snapshot& snapshot) {
  VisibleDevices visible;
  const Devices devices = numbered(Runtime::cann, snapshot);
  std::optional<std::uint64_t> before;
  int place = 0;
  for (const std::string_view entry : split(list, ',')) {
    ++place;
    const auto number = parse_unsigned(entry);
    const Device* device = number ? with_number(*number, devices) : nullptr;
    if (device == nullptr) {
      if (!list.empty() && list != "-1") visible.remarks.push_back(stopped(place, entry));
      break;
    }
    if (before && *number <= *before) {
      visible.devices.clear();
      visible.remarks.push_back(
          sentence("entry {} (\"{}\") does not ascend: none is shown", place, printable(entry)));
      break;
    }
    before = number;
    visible.devices.push_back(device->id);
  }
  return visible;
}

VisibleDevices parse_plain_numbers(std::string_view list, DeviceKind kind,
                                   const Snapshot& snapshot) {
  VisibleDevices visible;
  Devices devices;
  for (const Device& device : snapshot.devices) {
    if (device.kind == kind && runtime_number(device)) devices.push_back(&device);
  }
  if (trimmed(list).empty() || trimmed(list) == "-1") return visible;
  int place = 0;
  for (const std::string_view part : split(list, ',')) {
    ++place;
    const auto number = parse_unsigned(trimmed(part));
    const Device* device = number ? with_number(*number, devices) : nullptr;
    if (device == nullptr || is_listed(visible, *device)) {
      visible.remarks.push_back(stopped(place, trimmed(part)));
      break;
    }
    visible.devices.push_back(device->id);
  }
  return visible;
}

namespace {

/// Collects what is left of each maker's devices.
class Left {
 public:
  explicit Left(const Snapshot& snapshot) : snapshot_(snapshot) {}

  /// `is_limited`: whose devices the variable speaks of.
  template <class IsLimited>
  void take(IsLimited is_limited, std::string_view variable, VisibleDevices visible) {
    is_any_ = true;
    for (const Device& device : snapshot_.devices) {
      if (is_limited(device)) limited_.push_back(&device);
    }
    for (DeviceId& id : visible.devices) left_.devices.push_back(std::move(id));
    for (const Sentence& remark : visible.remarks) {
      left_.remarks.push_back(sentence("{}: {}", variable, remark));
    }
  }

  std::optional<VisibleDevices> all() && {
    if (!is_any_) return std::nullopt;
    for (const Device& device : snapshot_.devices) {
      if (is_supported(device) && !is_limited(device)) left_.devices.push_back(device.id);
    }
    return std::move(left_);
  }

  /// As a program counts those of each runtime; where that is not known, of each kind.
  ProgramNumbers numbers() && {
    ProgramNumbers told{.remarks = std::move(left_.remarks)};
    std::map<std::pair<Runtime, DeviceKind>, int> next;
    const auto add = [&](const Device& device) {
      const Runtime runtime = facts_of(device.kind).runtime;
      const DeviceKind apart = runtime == Runtime::none ? device.kind : DeviceKind::other;
      told.numbers.emplace(device.id, next[{runtime, apart}]++);
    };
    for (const DeviceId& id : left_.devices) {
      if (const Device* device = find_device(id, snapshot_)) add(*device);
    }
    Devices others;
    for (const Device& device : snapshot_.devices) {
      const bool is_whole = division_of(device) != Division::divided;
      const bool is_counted = is_supported(device) && is_whole && runtime_number(device);
      if (is_counted && !is_limited(device)) others.push_back(&device);
    }
    std::ranges::stable_sort(others, {}, [](const Device* one) { return runtime_number(*one); });
    for (const Device* device : others) add(*device);
    return told;
  }

 private:
  [[nodiscard]] bool is_limited(const Device& device) const {
    return std::ranges::find(limited_, &device) != limited_.end();
  }

  const Snapshot& snapshot_;
  Devices limited_;
  bool is_any_ = false;
  VisibleDevices left_;
};

auto those_of(Runtime runtime) {
  return [runtime](const Device& device) { return is_of(runtime, device); };
}

bool has_any(Runtime runtime, const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.devices, those_of(runtime));
}

/// Both layers of ROCm, one after the other.
void take_rocm(const VisibleSettings& settings, Left& left, const Snapshot& snapshot) {
  const bool is_cuda_meant = !has_any(Runtime::cuda, snapshot);
  const auto& second = settings.hip && !settings.hip->empty() ? settings.hip
                       : is_cuda_meant                        ? settings.cuda
                                                              : settings.hip;
  if (!settings.rocr && (!second || second->empty())) return;
  VisibleDevices first;
  if (settings.rocr) {
    first = parse_rocr_visible_devices(*settings.rocr, snapshot);
  } else {
    for (const Device* one : numbered(Runtime::rocm, snapshot)) first.devices.push_back(one->id);
  }
  if (!second || second->empty()) {
    left.take(those_of(Runtime::rocm), "ROCR_VISIBLE_DEVICES", std::move(first));
    return;
  }
  VisibleDevices both = parse_hip_visible_devices(*second, first.devices, snapshot);
  both.remarks.insert(both.remarks.begin(), first.remarks.begin(), first.remarks.end());
  const bool is_hip = settings.hip && !settings.hip->empty();
  left.take(those_of(Runtime::rocm), is_hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES",
            std::move(both));
}

/// Whether CUDA's variable speaks of one of them.
bool take_plain(const VisibleSettings& settings, Left& left, const Snapshot& snapshot) {
  const std::string_view cudas = facts_of(Runtime::cuda).visible_variable;
  bool is_cudas_meant = false;
  for (const DeviceKindFacts& facts : device_kinds()) {
    const auto is_its = [&](const Device& device) { return device.kind == facts.kind; };
    if (!is_plainly_numbered(facts) || std::ranges::none_of(snapshot.devices, is_its)) continue;
    const bool is_cudas = facts.visible_variable == cudas;
    const auto own = settings.plain.find(facts.kind);
    const bool is_set =
        is_cudas ? settings.cuda && !has_any(Runtime::cuda, snapshot) : own != settings.plain.end();
    if (!is_set) continue;
    is_cudas_meant |= is_cudas;
    left.take(is_its, facts.visible_variable,
              parse_plain_numbers(is_cudas ? *settings.cuda : own->second, facts.kind, snapshot));
  }
  return is_cudas_meant;
}

DeviceOrder order_in(const VisibleSettings& settings) {
  return settings.cuda_order == "PCI_BUS_ID" ? DeviceOrder::pci_bus_id : DeviceOrder::fastest_first;
}

static_assert(runtime_count == 5, "each runtime's variable is read here: a list is never widened");
Result<Left> left_by(const VisibleSettings& settings, const Snapshot& snapshot,
                     std::string_view user) {
  Left left(snapshot);
  const bool has_rocm = has_any(Runtime::rocm, snapshot);
  const bool has_plain = take_plain(settings, left, snapshot);
  // Where nothing is known of any device, it is CUDA's all the same.
  if (settings.cuda && (has_any(Runtime::cuda, snapshot) || !(has_rocm || has_plain))) {
    auto visible = parse_visible_devices(settings.cuda, order_in(settings), snapshot, user);
    if (!visible) return std::unexpected(std::move(visible).error());
    // What was meant needs no remark on how CUDA reads it.
    if (hides_devices_on_purpose(*settings.cuda)) visible->remarks.clear();
    left.take(those_of(Runtime::cuda), "CUDA_VISIBLE_DEVICES", *std::move(visible));
  }
  if (has_rocm) take_rocm(settings, left, snapshot);
  if (settings.affinity_mask && !settings.affinity_mask->empty() &&
      has_any(Runtime::level_zero, snapshot)) {
    left.take(those_of(Runtime::level_zero), "ZE_AFFINITY_MASK",
              parse_affinity_mask(*settings.affinity_mask, snapshot));
  }
  if (settings.ascend && has_any(Runtime::cann, snapshot)) {
    left.take(those_of(Runtime::cann), "ASCEND_RT_VISIBLE_DEVICES",
              parse_ascend_visible_devices(*settings.ascend, snapshot));
  }
  return left;
}

}  // namespace

bool limits_devices(const VisibleSettings& settings) {
  return settings.cuda || settings.rocr || settings.hip || settings.affinity_mask ||
         settings.ascend || !settings.plain.empty();
}

VisibleSettings visible_settings_in(
    const std::function<std::optional<std::string>(const char*)>& value_of) {
  const std::string_view cudas = facts_of(Runtime::cuda).visible_variable;
  std::map<DeviceKind, std::string> plain;
  for (const DeviceKindFacts& facts : device_kinds()) {
    if (!is_plainly_numbered(facts) || facts.visible_variable == cudas) continue;
    auto value = value_of(facts.visible_variable.data());
    if (!value && !facts.earlier_variable.empty()) value = value_of(facts.earlier_variable.data());
    if (value) plain.emplace(facts.kind, *std::move(value));
  }
  return {.cuda = value_of("CUDA_VISIBLE_DEVICES"),
          .cuda_order = value_of("CUDA_DEVICE_ORDER"),
          .rocr = value_of("ROCR_VISIBLE_DEVICES"),
          .hip = value_of("HIP_VISIBLE_DEVICES"),
          .affinity_mask = value_of("ZE_AFFINITY_MASK"),
          .ascend = value_of("ASCEND_RT_VISIBLE_DEVICES"),
          .plain = std::move(plain)};
}

Result<std::optional<VisibleDevices>> devices_left_by(const VisibleSettings& settings,
                                                      const Snapshot& snapshot,
                                                      std::string_view user) {
  auto left = left_by(settings, snapshot, user);
  if (!left) return std::unexpected(std::move(left).error());
  return (*std::move(left)).all();
}

ProgramNumbers numbers_in_program(const VisibleSettings& settings, const Snapshot& snapshot) {
  if (!has_any(Runtime::cuda, snapshot)) {
    auto left = left_by(settings, snapshot, {});
    return left ? (*std::move(left)).numbers() : ProgramNumbers{};
  }
  // CUDA counts in its own order also where nothing is set.
  VisibleSettings others = settings;
  others.cuda.reset();
  auto left = left_by(others, snapshot, {});
  if (!left) return {};
  auto cuda = parse_visible_devices(settings.cuda, order_in(settings), snapshot);
  const bool is_known = cuda.has_value();
  VisibleDevices visible;
  if (is_known) visible = *std::move(cuda);
  left->take(those_of(Runtime::cuda), "CUDA_VISIBLE_DEVICES", std::move(visible));
  ProgramNumbers told = (*std::move(left)).numbers();
  if (is_known) return told;
  told.remarks.push_back(cuda.error().said());
  for (const Device& device : snapshot.devices) {
    if (is_of(Runtime::cuda, device)) told.numbers.emplace(device.id, std::nullopt);
  }
  return told;
}

}  // namespace berth
