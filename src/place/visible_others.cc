#include "place/visible_others.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "snapshot/device_kind_rows.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Devices = std::vector<const Device*>;

/// Whether its programs count it with those of the row.
bool is_counted_with(const DeviceKindFacts& facts, const Device& device) {
  return facts.runtime == Runtime::none ? device.kind == facts.kind : is_of(facts.runtime, device);
}

bool has_any(const DeviceKindFacts& facts, const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.devices,
                             [&](const Device& device) { return is_counted_with(facts, device); });
}

/// Those that a program numbers, by number: of a divided card its parts.
Devices numbered(const DeviceKindFacts& facts, const Snapshot& snapshot) {
  Devices devices;
  for (const Device& device : snapshot.devices) {
    const bool is_whole = division_of(device) != Division::divided;
    const bool is_its = is_counted_with(facts, device);
    if (is_its && is_whole && runtime_number(device)) devices.push_back(&device);
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

/// What somebody else set may be long.
std::string shown(std::string_view entry) {
  constexpr std::size_t most = 64;
  return printable(entry.substr(0, most)) + (entry.size() > most ? "…" : "");
}

Sentence stopped(int place, std::string_view entry) {
  return sentence("entry {} (\"{}\") is no device: the list ends there", place, shown(entry));
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

VisibleDevices read_numbers(const Devices& devices, std::string_view list, ListSyntax syntax) {
  VisibleDevices visible;
  if (trimmed(list).empty() || trimmed(list) == "-1") return visible;
  int place = 0;
  for (const std::string_view part : split(list, ',')) {
    ++place;
    const std::string_view entry = trimmed(part);
    const auto number = parse_unsigned(entry);
    const Device* device = number                       ? with_number(*number, devices)
                           : syntax == ListSyntax::rocr ? with_beginning(entry, devices)
                                                        : nullptr;
    if (device == nullptr || is_listed(visible, *device)) {
      visible.remarks.push_back(stopped(place, entry));
      break;
    }
    visible.devices.push_back(device->id);
  }
  return visible;
}

VisibleDevices read_mask(const Devices& devices, std::string_view list) {
  constexpr std::size_t most_remarks = 8;
  VisibleDevices visible;
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
    } else if (!list.empty() && entry != "-1" && visible.remarks.size() < most_remarks) {
      visible.remarks.push_back(
          sentence("entry {} (\"{}\") is no device: it is passed over", place, shown(entry)));
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (is_named[i]) visible.devices.push_back(devices[i]->id);
  }
  return visible;
}

VisibleDevices read_ascending(const Devices& devices, std::string_view list) {
  VisibleDevices visible;
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
          sentence("entry {} (\"{}\") does not ascend: none is shown", place, shown(entry)));
      break;
    }
    before = number;
    visible.devices.push_back(device->id);
  }
  return visible;
}

}  // namespace

VisibleDevices read_visible_list(const DeviceKindFacts& facts, std::string_view list,
                                 const Snapshot& snapshot) {
  const Devices devices = numbered(facts, snapshot);
  switch (facts.list_syntax) {
    case ListSyntax::level_zero:
      return read_mask(devices, list);
    case ListSyntax::ascending:
      return read_ascending(devices, list);
    case ListSyntax::numbers:
    case ListSyntax::rocr:
      return read_numbers(devices, list, facts.list_syntax);
    case ListSyntax::cuda:
      break;
  }
  BERTH_CHECK(false, "CUDA's own list is read by place/visible_devices.h");
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

namespace {

/// Collects what is left of each maker's devices.
class Left {
 public:
  explicit Left(const Snapshot& snapshot) : snapshot_(snapshot) {}

  /// Of a runtime the last one counts: a second variable names what both leave.
  void take(const DeviceKindFacts& facts, std::string_view variable, VisibleDevices visible) {
    is_any_ = true;
    std::erase_if(left_.devices, [&](const DeviceId& id) {
      const Device* device = find_device(id, snapshot_);
      return device == nullptr || is_counted_with(facts, *device);
    });
    for (const Device& device : snapshot_.devices) {
      if (!is_counted_with(facts, device)) continue;
      limited_.push_back(&device);
      // What the first has hidden the second does not count.
      if (!is_listed(visible, device)) left_.hidden_by.emplace(device.id, variable);
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

const std::string* value_in(const VisibleSettings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? nullptr : &found->second;
}

const DeviceKindFacts& cuda() { return facts_of(Runtime::cuda); }

/// What is left by a runtime's own variable, where that is set.
void add_own(std::vector<VisibleVariable>& found, const DeviceKindFacts& facts, bool has_cuda,
             const VisibleSettings& settings, const Snapshot& snapshot) {
  if (has_cuda && facts.visible_variable == cuda().visible_variable) return;
  std::string_view name = facts.visible_variable;
  if (!facts.earlier_variable.empty() && !settings.contains(name)) name = facts.earlier_variable;
  const std::string* value = value_in(settings, name);
  if (value == nullptr) return;
  found.push_back({name, *value, &facts,
                   value->empty() && facts.list_syntax == ListSyntax::level_zero,
                   read_visible_list(facts, *value, snapshot)});
}

/// What the second variable leaves of `left`. Where it says nothing, CUDA's is read in its place.
void add_second(std::vector<VisibleVariable>& found, const DeviceKindFacts& facts, bool has_cuda,
                const std::vector<DeviceId>& left, const VisibleSettings& settings,
                const Snapshot& snapshot) {
  const auto add = [&](std::string_view name) {
    const std::string* value = value_in(settings, name);
    if (value == nullptr) return false;
    found.push_back(
        {name, *value, &facts, value->empty(), parse_hip_visible_devices(*value, left, snapshot)});
    return !value->empty();
  };
  if (!add(facts.second_variable) && !has_cuda) add(cuda().visible_variable);
}

std::optional<std::string> cuda_list(const VisibleSettings& settings) {
  const std::string* list = value_in(settings, cuda().visible_variable);
  return list != nullptr ? std::optional(*list) : std::nullopt;
}

void take_others(Left& left, const VisibleSettings& settings, const Snapshot& snapshot) {
  for (VisibleVariable& one : other_variables(settings, snapshot)) {
    if (!one.is_as_unset) left.take(*one.of, one.name, std::move(one.read));
  }
}

}  // namespace

DeviceOrder cuda_order_in(const VisibleSettings& settings) {
  const std::string* order = value_in(settings, cuda().order_variable);
  return order != nullptr && *order == cuda().order_value ? DeviceOrder::pci_bus_id
                                                          : DeviceOrder::fastest_first;
}

bool limits_devices(const VisibleSettings& settings) {
  return std::ranges::any_of(settings, [](const auto& one) {
    return std::ranges::find(device_kinds(), one.first, &DeviceKindFacts::order_variable) ==
           device_kinds().end();
  });
}

VisibleSettings visible_settings_in(
    const std::function<std::optional<std::string>(const char*)>& value_of) {
  VisibleSettings settings;
  for (const std::string_view name : told_variables) {
    if (auto value = value_of(name.data())) settings.emplace(name, *std::move(value));
  }
  return settings;
}

std::vector<VisibleVariable> other_variables(const VisibleSettings& settings,
                                             const Snapshot& snapshot) {
  std::vector<VisibleVariable> found;
  const bool has_cuda = has_any(cuda(), snapshot);
  for (const DeviceKindFacts& facts : device_kinds()) {
    const bool is_other = facts.runtime != Runtime::cuda && speaks_for_runtime(facts);
    if (!is_other || facts.visible_variable.empty() || !has_any(facts, snapshot)) continue;
    const std::size_t before = found.size();
    add_own(found, facts, has_cuda, settings, snapshot);
    if (facts.second_variable.empty()) continue;
    std::vector<DeviceId> left;
    if (found.size() > before) {
      left = found.back().read.devices;
    } else {
      for (const Device* one : numbered(facts, snapshot)) left.push_back(one->id);
    }
    add_second(found, facts, has_cuda, left, settings, snapshot);
  }
  return found;
}

bool has_cudas(const Snapshot& snapshot) { return has_any(cuda(), snapshot); }

namespace {

/// Those whose numbers a batch system gives: NVIDIA's, or where it has none the only maker's. Null:
/// there are several.
const DeviceKindFacts* counted_by_numbers(const Snapshot& snapshot) {
  if (has_cudas(snapshot)) return &cuda();
  const DeviceKindFacts* found = nullptr;
  for (const Device& device : snapshot.devices) {
    if (device.integrated) continue;
    if (found == nullptr) found = &facts_of(device.kind);
    if (!is_counted_with(*found, device)) return nullptr;
  }
  return found;
}

/// Nothing: it cannot be told.
std::optional<Devices> numbered_so(std::string_view numbers, const DeviceKindFacts& facts,
                                   const Snapshot& snapshot) {
  const Devices all = numbered(facts, snapshot);
  const auto words = split(numbers, ',');
  Devices given;
  for (const std::string_view word : words) {
    const auto number = parse_unsigned(trimmed(word));
    if (!number) return std::nullopt;
    if (const Device* device = with_number(*number, all)) given.push_back(device);
  }
  // As many as are here are these.
  if (words.size() == all.size()) return all;
  return given.size() == words.size() ? std::optional(given) : std::nullopt;
}

}  // namespace

std::vector<DeviceId> held_to_numbers(std::vector<DeviceId> devices, std::string_view numbers,
                                      const VisibleSettings& settings, const Snapshot& snapshot) {
  const DeviceKindFacts* counted = counted_by_numbers(snapshot);
  // How a batch system numbers parts of divided cards is its own configuration's.
  const bool has_parts = std::ranges::any_of(
      snapshot.devices, [](const Device& device) { return device.parent.has_value(); });
  const auto given =
      counted != nullptr && !has_parts ? numbered_so(numbers, *counted, snapshot) : std::nullopt;
  const auto own = other_variables(settings, snapshot);
  std::erase_if(devices, [&](const DeviceId& id) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) return true;
    const bool is_counted = counted != nullptr && is_counted_with(*counted, *device);
    if (is_counted && given) {
      return std::ranges::find(*given, device) == given->end();
    }
    if (is_counted && counted == &cuda()) return false;  // CUDA's variable has said
    return std::ranges::none_of(own, [&](const VisibleVariable& one) {
      return !one.is_as_unset && is_counted_with(*one.of, *device);
    });
  });
  return devices;
}

Result<std::optional<VisibleDevices>> devices_left_by(const VisibleSettings& settings,
                                                      const Snapshot& snapshot,
                                                      std::string_view user) {
  Left left(snapshot);
  const auto list = cuda_list(settings);
  // Where there is no device at all, it is CUDA's all the same.
  if (list && (has_any(cuda(), snapshot) || snapshot.devices.empty())) {
    auto visible = parse_visible_devices(list, cuda_order_in(settings), snapshot, user);
    if (!visible) return std::unexpected(std::move(visible).error());
    // What was meant needs no remark on how CUDA reads it.
    if (hides_devices_on_purpose(*list)) visible->remarks.clear();
    left.take(cuda(), cuda().visible_variable, *std::move(visible));
  }
  take_others(left, settings, snapshot);
  return std::move(left).all();
}

ProgramNumbers numbers_in_program(const VisibleSettings& settings, const Snapshot& snapshot) {
  Left left(snapshot);
  take_others(left, settings, snapshot);
  if (!has_any(cuda(), snapshot)) return std::move(left).numbers();
  // CUDA counts in its own order also where nothing is set.
  auto read = parse_visible_devices(cuda_list(settings), cuda_order_in(settings), snapshot);
  const bool is_known = read.has_value();
  left.take(cuda(), cuda().visible_variable, is_known ? *std::move(read) : VisibleDevices());
  ProgramNumbers told = std::move(left).numbers();
  if (is_known) return told;
  told.remarks.push_back(read.error().said());
  for (const Device& device : snapshot.devices) {
    if (is_counted_with(cuda(), device)) told.numbers.emplace(device.id, std::nullopt);
  }
  return told;
}

}  // namespace berth
