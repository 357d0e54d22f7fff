#include "place/visible_devices.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

std::string_view uuid_of(const Device& device) {
  return device.uuid.get() ? std::string_view(*device.uuid.get()) : device.id.text();
}

/// The cards CUDA numbers, by number.
std::vector<const Device*> numbered_cards(const Snapshot& snapshot) {
  std::vector<const Device*> cards;
  for (const Device& device : snapshot.devices) {
    const bool is_card = is_of(Runtime::cuda, device) && !device.parent;
    if (is_card && runtime_number(device)) cards.push_back(&device);
  }
  std::stable_sort(cards.begin(), cards.end(), [](const Device* a, const Device* b) {
    return runtime_number(*a) < runtime_number(*b);
  });
  return cards;
}

std::vector<const Device*> mig_instances(const Snapshot& snapshot) {
  std::vector<const Device*> instances;
  for (const Device& device : snapshot.devices) {
    if (is_of(Runtime::cuda, device) && device.parent) instances.push_back(&device);
  }
  return instances;
}

/// Whether "fastest first" and "by PCI address" are the same order.
bool all_alike(const std::vector<const Device*>& cards) {
  return std::all_of(cards.begin(), cards.end(), [&](const Device* card) {
    const Device& first = *cards.front();
    return cards.size() == 1 || (card->name.get() && card->name == first.name &&
                                 card->compute_capability == first.compute_capability &&
                                 card->multiprocessors == first.multiprocessors &&
                                 card->clock_sm_max == first.clock_sm_max);
  });
}

bool looks_like_a_number(std::string_view entry) {
  if (entry.empty()) return false;
  if (is_digit(entry[0])) return true;
  return entry.size() > 1 && (entry[0] == '+' || entry[0] == '-') && is_digit(entry[1]);
}

/// As atoi: "1abc" is 1, "+2" is 2; nothing where it is negative or too large for an index.
std::optional<std::uint64_t> atoi_of(std::string_view entry) {
  if (entry[0] == '-') return std::nullopt;
  if (entry[0] == '+') entry.remove_prefix(1);
  std::size_t end = 0;
  while (end < entry.size() && is_digit(entry[end])) ++end;
  return parse_unsigned(entry.substr(0, end));
}

/// What of a number's entry CUDA does not read: " 1" of "0 1". Empty also for quotes and for
/// characters beyond ASCII: typing_remark() tells of those.
std::string_view unread_part(std::string_view entry) {
  if (entry[0] == '+') entry.remove_prefix(1);
  std::size_t end = 0;
  while (end < entry.size() && is_digit(entry[end])) ++end;
  entry.remove_prefix(end);
  const bool is_told = std::any_of(entry.begin(), entry.end(), [](char c) {
    return c == '"' || c == '\'' || static_cast<unsigned char>(c) >= 0x80;
  });
  return is_told ? std::string_view() : entry;
}

/// Reads one list, entry by entry.
class ListReader {
 public:
  explicit ListReader(const Snapshot& snapshot)
      : cards_(numbered_cards(snapshot)), instances_(mig_instances(snapshot)) {}

  VisibleDevices read_all() {
    for (const Device* card : cards_) static_cast<void>(add(*card));
    return std::move(visible_);
  }

  VisibleDevices read(std::string_view list) {
    int number = 0;
    for (const std::string_view part : split(list, ',')) {
      ++number;
      const std::string_view entry = trimmed(part);
      const Device* device = find(entry);
      if (device == nullptr) {
        visible_.remarks.push_back(sentence("entry {} (\"{}\") {}: CUDA stops there", number,
                                            printable(entry), complaint_));
        break;
      }
      if (!add(*device)) {
        visible_.devices.clear();
        visible_.remarks.push_back(
            sentence("entry {} (\"{}\") names a device twice: CUDA then shows none", number,
                     printable(entry)));
        break;
      }
      if (looks_like_a_number(entry) && !unread_part(entry).empty()) {
        visible_.remarks.push_back(
            sentence("entry {} (\"{}\") is read as {}: what follows the digits is passed over",
                     number, printable(entry), *atoi_of(entry)));
      }
    }
    return std::move(visible_);
  }

 private:
  /// The device an entry names; null and `complaint_` where it ends the list.
  const Device* find(std::string_view entry) {
    const bool number = looks_like_a_number(entry);
    if (!number && entry.substr(0, 4) != "GPU-" && entry.substr(0, 4) != "MIG-") {
      complaint_ =
          entry.empty() ? sentence("is empty") : sentence("is neither a number nor a UUID");
      return nullptr;
    }
    if (by_number_ && *by_number_ != number) {
      complaint_ = sentence("mixes numbers and UUIDs");
      return nullptr;
    }
    by_number_ = number;
    if (number) return find_number(entry);
    if (entry.substr(0, 4) == "GPU-") return find_prefix(entry, cards_);
    if (entry.substr(0, 8) == "MIG-GPU-") return find_mig_place(entry.substr(4));
    return find_prefix(entry, instances_);
  }

  const Device* find_number(std::string_view entry) {
    const auto number = atoi_of(entry);
    for (const Device* card : cards_) {
      if (number && static_cast<std::uint64_t>(*runtime_number(*card)) == *number) return card;
    }
    complaint_ = entry[0] == '-' ? sentence("is negative") : sentence("is beyond the last device");
    return nullptr;
  }

  const Device* find_prefix(std::string_view prefix, const std::vector<const Device*>& among) {
    const Device* found = nullptr;
    for (const Device* device : among) {
      const std::string_view uuid = uuid_of(*device);
      if (uuid == prefix) return device;
      if (uuid.substr(0, prefix.size()) != prefix) continue;
      if (found != nullptr) {
        complaint_ = sentence("fits more than one device");
        return nullptr;
      }
      found = device;
    }
    if (found == nullptr) complaint_ = sentence("is no device of this machine");
    return found;
  }

  /// "GPU-<uuid>/<gpu instance>/<compute instance>": how drivers before 470 name an instance.
  const Device* find_mig_place(std::string_view entry) {
    complaint_ = sentence("is no MIG instance of this machine");
    const auto parts = split(entry, '/');
    if (parts.size() != 3) return nullptr;
    const auto gpu_instance = parse_unsigned(parts[1]);
    const auto compute_instance = parse_unsigned(parts[2]);
    for (const Device* device : instances_) {
      if (device->parent && parent_uuid(*device) == parts[0] && device->partition &&
          device->partition->gpu_instance == gpu_instance &&
          device->partition->compute_instance == compute_instance) {
        return device;
      }
    }
    return nullptr;
  }

  [[nodiscard]] std::string_view parent_uuid(const Device& instance) const {
    for (const Device* card : cards_) {
      if (card->id == instance.parent) return uuid_of(*card);
    }
    return instance.parent->text();
  }

  [[nodiscard]] const Device* first_instance_of(const Device& card) const {
    for (const Device* instance : instances_) {
      if (instance->parent == card.id) return instance;
    }
    return nullptr;
  }

  /// False: the list has it already.
  [[nodiscard]] bool add(const Device& named) {
    const Device* device = &named;
    if (division_of(named) == Division::divided) {
      device = first_instance_of(named);
      if (device == nullptr) {
        visible_.remarks.push_back(sentence(
            "{} is divided by MIG and has no instance: CUDA leaves it out", uuid_of(named)));
        return true;
      }
    }
    if (std::find(visible_.devices.begin(), visible_.devices.end(), device->id) !=
        visible_.devices.end()) {
      return false;
    }
    if (device->parent && std::exchange(has_instance_, true)) {
      visible_.remarks.push_back(sentence(
          "{} is left out: a CUDA program uses one MIG instance at most", uuid_of(*device)));
      return true;
    }
    visible_.devices.push_back(device->id);
    return true;
  }

  std::vector<const Device*> cards_;
  std::vector<const Device*> instances_;
  VisibleDevices visible_;
  std::optional<bool> by_number_;
  bool has_instance_ = false;
  Sentence complaint_;
};

/// Free, or with nobody on it but this user.
bool is_to_be_had(const Device& device, std::string_view user, const Snapshot& snapshot) {
  const DeviceState state = state_of(device, snapshot);
  if (state == DeviceState::free) return true;
  if (state != DeviceState::leased && state != DeviceState::busy && state != DeviceState::held) {
    return false;
  }
  const auto users = users_of(device, snapshot);
  return !users.empty() && std::ranges::all_of(users, [&](auto& one) { return one == user; });
}

/// "0-3" as 0, 1, 2, 3; any other word as it is.
std::vector<std::string> entries_of(const std::string& word) {
  constexpr std::size_t most = 64;
  const auto numbers = numbers_in_list(word);
  if (!numbers || numbers->size() > most) return {word};
  std::vector<std::string> entries;
  for (const int number : *numbers) entries.push_back(std::to_string(number));
  return entries;
}

/// The entries that a list probably means, whatever stands between them.
std::vector<std::string> entries_meant(const std::string& value) {
  const auto mistake = typographic_mistake(value);
  std::string text = mistake ? mistake->corrected : value;
  for (char& c : text) {
    if (std::string_view(" \t;[](){}\"'").find(c) != std::string_view::npos) c = ',';
  }
  std::vector<std::string> entries;
  for (const std::string_view word : split(text, ',')) {
    for (std::string& entry : entries_of(std::string(word))) entries.push_back(std::move(entry));
  }
  return entries;
}

/// VisibleDevices::corrected.
std::string corrected_list(const std::string& value, std::string_view user,
                           const Snapshot& snapshot) {
  std::vector<DeviceId> meant;
  VisibleFormat format = VisibleFormat::indices;
  const auto add = [&](const std::string& entry) {
    for (const DeviceId& id : ListReader(snapshot).read(entry).devices) {
      const Device* device = find_device(id, snapshot);
      const bool is_new = std::ranges::find(meant, id) == meant.end();
      // A program sees one MIG instance.
      const bool is_one_too_many = device != nullptr && device->parent && !meant.empty();
      if (device == nullptr || !is_new || is_one_too_many) continue;
      if (!is_to_be_had(*device, user, snapshot)) continue;
      meant.push_back(id);
      if (!looks_like_a_number(entry)) format = VisibleFormat::uuids;
    }
  };
  for (const std::string& entry : entries_meant(value)) add(entry);
  for (const Device* card : numbered_cards(snapshot)) {
    if (meant.empty()) add(std::to_string(*runtime_number(*card)));
  }
  return meant.empty() ? "" : write_visible_devices(meant, format, snapshot).value_or("");
}

/// Curly or full-width characters, and quotes that a shell or an env file left in the value.
std::optional<Sentence> typing_remark(const std::string& value, const std::string& corrected) {
  const auto mistake = typographic_mistake(value);
  const std::size_t quote = value.find_first_of("\"'");
  if (!mistake && quote == std::string::npos) return std::nullopt;
  const std::string found = mistake ? mistake->found : value.substr(quote, 1);
  if (corrected.empty())
    return sentence("the list has \"{}\", which CUDA does not understand", found);
  return sentence("the list has \"{}\", which CUDA does not understand: write export {}={}", found,
                  facts_of(DeviceKind::nvidia_gpu).visible_variable, corrected);
}

Result<std::vector<const Device*>> resolve(const std::vector<DeviceId>& ids,
                                           const Snapshot& snapshot) {
  std::vector<const Device*> devices;
  for (const DeviceId& id : ids) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) {
      return fail(ErrorCode::not_found, "cannot list device {}: this machine does not show it",
                  id.text());
    }
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

Result<VisibleDevices> parse_visible_devices(const std::optional<std::string>& variable,
                                             DeviceOrder order, const Snapshot& snapshot,
                                             std::string_view user) {
  ListReader reader(snapshot);
  if (!variable) return reader.read_all();
  if (trimmed(*variable).empty()) return VisibleDevices{};
  const auto cards = numbered_cards(snapshot);
  if (order == DeviceOrder::fastest_first && looks_like_a_number(trimmed(*variable)) &&
      trimmed(*variable)[0] != '-' && !all_alike(cards)) {
    const DeviceKindFacts& facts = facts_of(DeviceKind::nvidia_gpu);
    return fail(ErrorCode::invalid,
                "{}={} counts this machine's different cards from the fastest, and which is which "
                "only CUDA knows. Count them as nvidia-smi does: export {}={}",
                facts.visible_variable, printable(*variable), facts.order_variable,
                facts.order_value);
  }
  VisibleDevices visible = reader.read(*variable);
  const std::string corrected = corrected_list(*variable, user, snapshot);
  if (auto remark = typing_remark(*variable, corrected)) {
    visible.remarks.push_back(std::move(*remark));
  }
  if (!visible.remarks.empty()) visible.corrected = corrected;
  return visible;
}

bool hides_devices_on_purpose(std::string_view variable) {
  const std::string_view list = trimmed(variable);
  constexpr std::array<std::string_view, 4> words = {"-1", "NoDevFiles", "none", "void"};
  return list.empty() || std::ranges::any_of(words, [&](std::string_view word) {
           return equals_ignoring_case(list, word);
         });
}

Result<std::string> write_visible_devices(const std::vector<DeviceId>& devices,
                                          VisibleFormat format, const Snapshot& snapshot) {
  const auto resolved = resolve(devices, snapshot);
  if (!resolved) return std::unexpected(resolved.error());
  const auto instances = std::ranges::count_if(*resolved, [](const Device* d) {
    return d->parent.has_value() && !facts_of(d->kind).has_numbered_parts;
  });
  if (instances > 1) {
    return fail(ErrorCode::unsupported,
                "cannot list {} MIG instances: a CUDA program uses one at most", instances);
  }
  // Numbers and UUIDs do not mix, and an instance has no number.
  const bool by_uuid = format == VisibleFormat::uuids || instances > 0;
  std::vector<std::string> entries;
  std::vector<const Device*> ordered = *resolved;
  if (!ordered.empty() && facts_of(ordered.front()->kind).list_syntax == ListSyntax::ascending) {
    std::ranges::stable_sort(ordered, {}, [](const Device* d) { return runtime_number(*d); });
  }
  for (const Device* device : ordered) {
    const bool has_uuid = device->uuid.get() || is_of(Runtime::cuda, *device);
    if (by_uuid && !has_uuid) {
      return fail(ErrorCode::unsupported, "device {} has no UUID of its own: ask for indices",
                  device->id.text());
    }
    if (by_uuid) {
      entries.emplace_back(uuid_of(*device));
    } else if (const auto number = runtime_number(*device)) {
      entries.push_back(std::to_string(*number));
    } else {
      return fail(ErrorCode::unsupported, "device {} has no number: ask for UUIDs instead",
                  device->id.text());
    }
  }
  return joined(entries, ",");
}

namespace {
/// Of those that must not number anew what is left: the one that another maker's devices here are
/// hidden by. Empty: there is none.
std::string_view hider_of_others(const DeviceKindFacts& facts, const Snapshot& snapshot) {
  for (const std::string_view name : facts.removed_variables) {
    const bool shows_another = name != facts.visible_variable &&
                               std::ranges::any_of(snapshot.devices, [&](const Device& device) {
                                 return facts_of(device.kind).visible_variable == name;
                               });
    if (shows_another) return name;
  }
  return {};
}

/// A list of all that the first variable leaves: "0,1".
std::string all_of(std::size_t count) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
  return joined(numbers, ",");
}
}  // namespace

std::vector<std::string> removed_variables(const std::vector<DeviceId>& devices,
                                           const Snapshot& snapshot) {
  std::vector<std::string> removed;
  for (const DeviceId& id : devices) {
    const Device* device = find_device(id, snapshot);
    if (device == nullptr) continue;
    const DeviceKindFacts& facts = facts_of(device->kind);
    const std::string_view hider = hider_of_others(facts, snapshot);
    for (const std::string_view name : facts.removed_variables) {
      const bool is_set = !hider.empty() && (name == hider || name == facts.second_variable);
      if (!is_set && std::ranges::find(removed, name) == removed.end()) removed.emplace_back(name);
    }
  }
  return removed;
}

std::vector<std::pair<std::string, std::string>> variables_instead(
    const std::vector<DeviceId>& devices, const Snapshot& snapshot) {
  std::vector<std::pair<std::string, std::string>> instead;
  for (const std::string& name : removed_variables(devices, snapshot)) {
    const bool is_second = std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& facts) {
      return facts.second_variable == name;
    });
    instead.emplace_back(name, is_second ? all_of(devices.size()) : "");
  }
  return instead;
}

Result<std::vector<std::pair<std::string, std::string>>> visible_variables(
    const std::vector<DeviceId>& devices, VisibleFormat format, const Snapshot& snapshot) {
  const auto resolved = resolve(devices, snapshot);
  if (!resolved) return std::unexpected(resolved.error());
  std::map<std::string_view, std::pair<const DeviceKindFacts*, std::vector<DeviceId>>> groups;
  for (const Device* device : *resolved) {
    const DeviceKindFacts& facts = facts_of(device->kind);
    if (facts.visible_variable.empty()) {
      return fail(ErrorCode::unsupported,
                  "no variable shows device {} to a program: its kind is not supported yet",
                  device->id.text());
    }
    auto& group = groups[facts.visible_variable];
    group.first = &facts;
    group.second.push_back(device->id);
  }
  std::vector<std::pair<std::string, std::string>> variables;
  // Without it a job would see another maker's devices, too. Its own runtime, which reads it where
  // its second says nothing, is told all by that.
  for (const auto& [variable, group] : groups) {
    const std::string_view hider = hider_of_others(*group.first, snapshot);
    if (hider.empty() || groups.contains(hider)) continue;
    variables.emplace_back(hider, "");
    if (group.first->second_variable.empty()) continue;
    variables.emplace_back(group.first->second_variable, all_of(group.second.size()));
  }
  for (const auto& [variable, group] : groups) {
    auto list = write_visible_devices(group.second, format, snapshot);
    if (!list) return std::unexpected(std::move(list).error());
    if (!group.first->order_variable.empty()) {
      variables.emplace_back(group.first->order_variable, group.first->order_value);
    }
    variables.emplace_back(variable, std::move(*list));
  }
  return variables;
}

}  // namespace berth
