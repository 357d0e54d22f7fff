#include "diagnose/doctor/visible_lists.h"

#include <algorithm>

#include "base/text.h"
#include "place/visible_devices.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

Sentence named(const Device& device) {
  return sentence("GPU {}, {} ({})", device.index ? std::to_string(*device.index) : "–",
                  device.name.get().value_or("?"), device.id.text());
}

/// What an entry names by itself.
Sentence meaning_alone(const std::string& entry, DeviceOrder order, const Snapshot& snapshot) {
  const auto alone = parse_visible_devices(entry, order, snapshot);
  if (!alone) return sentence("not to be told: the cards differ");
  const Device* device =
      alone->devices.empty() ? nullptr : find_device(alone->devices.front(), snapshot);
  return device != nullptr ? named(*device) : sentence("no device");
}

std::optional<Sentence> new_remark(const VisibleDevices& now, const VisibleDevices& before) {
  for (const Sentence& remark : now.remarks) {
    if (std::ranges::find(before.remarks, remark) == before.remarks.end()) return remark;
  }
  return std::nullopt;
}

/// What each entry names, up to the one that ends the list.
std::vector<VisibleList::Token> tokens_of(const std::string& list, DeviceOrder order,
                                          const Snapshot& snapshot) {
  std::vector<VisibleList::Token> tokens;
  if (trimmed(list).empty()) return tokens;
  std::string read;       // with the entries before
  VisibleDevices before;  // what those came to
  bool has_ended = false;
  for (const std::string_view part : split(list, ',')) {
    const std::string entry(trimmed(part));
    VisibleList::Token token{.text = "\"" + entry + "\"",
                             .meaning = sentence("not read: the list had ended")};
    if (!has_ended) {
      read += (tokens.empty() ? "" : ",") + entry;
      // A mistake is one in every order.
      const auto so_far = parse_visible_devices(read, DeviceOrder::pci_bus_id, snapshot);
      const auto mistake = so_far && so_far->devices.size() <= before.devices.size()
                               ? new_remark(*so_far, before)
                               : std::nullopt;
      has_ended = mistake.has_value();
      token.meaning = mistake ? *mistake : meaning_alone(entry, order, snapshot);
      if (so_far) before = *so_far;
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

const Device* device_by_uuid(std::string_view beginning, const Snapshot& snapshot) {
  for (const Device& device : snapshot.devices) {
    if (device.uuid.get() && device.uuid.get()->starts_with(beginning)) return &device;
  }
  return nullptr;
}

/// What an entry of NVIDIA_VISIBLE_DEVICES asks NVIDIA's container toolkit for. Its numbers are the
/// host's, which cannot be seen from inside.
Sentence given_by(std::string_view entry, const Snapshot& snapshot) {
  if (entry == "all") return sentence("every GPU of the host");
  if (entry == "none" || entry == "void" || entry.empty()) {
    return sentence("no GPU by this variable");
  }
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
    const Device* device = device_by_uuid(entry, snapshot);
    return device == nullptr ? sentence("no device that is shown here") : named(*device);
  }
  const std::size_t colon = entry.find(':');
  const auto card = parse_unsigned(entry.substr(0, colon));
  if (card && colon == entry.npos) {
    return sentence("the host's GPU {}; in here numbers begin with 0 again", *card);
  }
  const auto instance = card ? parse_unsigned(entry.substr(colon + 1)) : std::nullopt;
  if (instance) return sentence("MIG instance {} of the host's GPU {}", *instance, *card);
  return sentence("neither a number of the host's nor a UUID");
}

}  // namespace

std::optional<VisibleList> visible_list(const VisibleSettings& settings, const Snapshot& snapshot,
                                        std::string_view user) {
  const auto set = settings.find(facts_of(Runtime::cuda).visible_variable);
  // Where others' devices alone are here, it is theirs, if anybody's: see other_variables().
  const bool is_anybodys = has_cudas(snapshot) || snapshot.devices.empty();
  if (set == settings.end() || !is_anybodys) return std::nullopt;
  const std::string& value = set->second;
  const DeviceOrder meant = cuda_order_in(settings);
  VisibleList list{.value = value, .tokens = tokens_of(value, meant, snapshot)};
  // A user that hides all devices on purpose has made no mistake.
  const bool is_meant = hides_devices_on_purpose(value);
  auto read = parse_visible_devices(value, meant, snapshot, user);
  if (read) {
    list.devices = read->devices;
    list.remarks = read->remarks;
  } else {
    list.unclear = read.error().said();
    // A mistake is one in every order; its correction counts as nvidia-smi does.
    read = parse_visible_devices(value, DeviceOrder::pci_bus_id, snapshot, user);
    if (read && !is_meant) list.remarks = read->remarks;
  }
  if (read && !is_meant) list.corrected = read->corrected;
  return list;
}

std::optional<VisibleList> given_list(const std::optional<std::string>& value,
                                      const Examined& host) {
  if (!value || *value == "all" || !is_container(host)) return std::nullopt;
  VisibleList list{.value = *value};
  for (const std::string_view part : split(*value, ',')) {
    const std::string entry(trimmed(part));
    list.tokens.push_back({.text = "\"" + entry + "\"", .meaning = given_by(entry, host.snapshot)});
  }
  return list;
}

}  // namespace berth::doctor
