// Events: those of the machine's `xids` whose time comes after the registration. Also what a test
// writes after it into the file BERTH_FAKE_NVML_EVENTS: lines "INDEX XID" or "INDEX dbe".

#include <cstdlib>
#include <memory>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "exports.h"

using namespace fake_nvml;

namespace {

constexpr unsigned long long double_bit_error = 0x2;
constexpr unsigned long long xid_error = 0x8;

struct Registered {
  const FakeDevice* device = nullptr;
  unsigned long long types = 0;
  std::uint64_t since_us = 0;
};

struct FakeSet {
  std::vector<Registered> registered;
  std::set<std::size_t> told;  // positions in the machine's xids
  std::size_t lines_told = 0;
};

std::vector<std::unique_ptr<FakeSet>>& sets() {
  static std::vector<std::unique_ptr<FakeSet>> all;
  return all;
}

FakeSet* set_of(EventSet handle) {
  for (const auto& set : sets()) {
    if (reinterpret_cast<EventSet>(set.get()) == handle) return set.get();
  }
  return nullptr;
}

std::vector<std::string> lines() {
  const char* path = std::getenv("BERTH_FAKE_NVML_EVENTS");
  const auto text = path == nullptr ? berth::Result<std::string>("") : berth::read_file(path);
  std::vector<std::string> whole;
  if (!text) return whole;
  std::string_view rest = *text;
  // A line that is still being written has no end yet.
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    whole.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return whole;
}

const Registered* registered_for(const FakeSet& set, const FakeDevice* device,
                                 unsigned long long type) {
  for (const Registered& one : set.registered) {
    if (one.device == device && (one.types & type) != 0) return &one;
  }
  return nullptr;
}

EventData event_of(const FakeDevice& device, unsigned long long type, std::uint64_t data) {
  return {.device = handle_of(device),
          .type = type,
          .data = data,
          .gpu_instance = no_instance,
          .compute_instance = no_instance};
}

std::optional<EventData> next_scheduled(FakeSet& set) {
  const auto& xids = snapshot().xids.get();
  for (std::size_t i = 0; xids && i < xids->size(); ++i) {
    const berth::XidEvent& event = (*xids)[i];
    const auto at_us = static_cast<std::uint64_t>(event.at.unix_ms) * 1000;
    if (at_us > now_us() || set.told.contains(i)) continue;
    for (const FakeDevice* gpu : gpus()) {
      const Registered* one = registered_for(set, gpu, xid_error);
      if (one == nullptr || gpu->data.pci_address.get() != event.pci_address) continue;
      if (at_us <= one->since_us) continue;
      set.told.insert(i);
      return event_of(*gpu, xid_error, event.code);
    }
  }
  return std::nullopt;
}

std::optional<EventData> next_written(FakeSet& set) {
  const auto all = lines();
  while (set.lines_told < all.size()) {
    const std::string& line = all[set.lines_told++];
    const auto words = berth::split(line, ' ');
    const auto index = berth::parse_unsigned(words[0]);
    if (words.size() != 2 || !index || *index >= gpus().size()) continue;
    const FakeDevice* gpu = gpus()[*index];
    const bool ecc = words[1] == "dbe";
    const auto type = ecc ? double_bit_error : xid_error;
    if (registered_for(set, gpu, type) == nullptr) continue;
    return event_of(*gpu, type, ecc ? 0 : berth::parse_unsigned(words[1]).value_or(0));
  }
  return std::nullopt;
}

Return wait(const char* function, EventSet handle, EventData* out) {
  return on_system(function, [&](const Call& call) {
    FakeSet* set = set_of(handle);
    if (set == nullptr || out == nullptr) return invalid_argument;
    if (call.lie()) {
      *out = event_of(*gpus().front(), xid_error, 0);
      return call.put(&out->data, std::uint64_t{0});
    }
    auto event = next_scheduled(*set);
    if (!event) event = next_written(*set);
    if (!event) return timed_out;
    *out = *event;
    return success;
  });
}

}  // namespace

FAKE_NVML nvmlEventSetCreate(EventSet* out) {
  return on_system(__func__, [&](const Call&) {
    if (out == nullptr) return invalid_argument;
    sets().push_back(std::make_unique<FakeSet>());
    sets().back()->lines_told = lines().size();
    *out = reinterpret_cast<EventSet>(sets().back().get());
    return success;
  });
}

FAKE_NVML nvmlEventSetFree(EventSet set) {
  return on_system(__func__, [&](const Call&) {
    const auto erased = std::erase_if(
        sets(), [&](const auto& one) { return reinterpret_cast<EventSet>(one.get()) == set; });
    return erased == 0 ? invalid_argument : success;
  });
}

FAKE_NVML nvmlEventSetWait(EventSet set, EventData* out, unsigned) {
  return wait(__func__, set, out);
}
FAKE_NVML nvmlEventSetWait_v2(EventSet set, EventData* out, unsigned) {
  return wait(__func__, set, out);
}

FAKE_NVML nvmlDeviceGetSupportedEventTypes(Handle handle, unsigned long long* out) {
  return on_device(__func__, handle, [&](const Call& call, const FakeDevice&) {
    return call.put(out, double_bit_error | xid_error | 0x4ULL | 0x10ULL);
  });
}

FAKE_NVML nvmlDeviceRegisterEvents(Handle handle, unsigned long long types, EventSet set) {
  return on_device(__func__, handle, [&](const Call&, const FakeDevice& it) {
    FakeSet* to = set_of(set);
    if (to == nullptr || types == 0) return invalid_argument;
    to->registered.push_back({.device = &it, .types = types, .since_us = now_us()});
    return success;
  });
}
