#include "probe/nvml/events.h"

#include <algorithm>

#include "probe/nvml/answers.h"

namespace berth::nvml {

namespace {

// A double bit error of the memory is XID 48.
constexpr std::uint64_t xid_double_bit = 48;
constexpr std::uint64_t highest_xid = 9999;  // three digits so far
constexpr std::uint64_t wanted = event_xid_error | event_double_bit_error;
/// A driver that never says "no more" must not keep the look for ever.
constexpr int most_at_once = 1000;

std::optional<std::uint64_t> xid_of(const EventData& event) {
  if (event.type == event_double_bit_error) return xid_double_bit;
  if (event.type != event_xid_error || event.data == 0 || event.data > highest_xid) {
    return std::nullopt;
  }
  return event.data;
}

/// One that a driver tells both as its XID and as what it is counts once.
void drop_one_like(const std::string& address, std::vector<XidEvent>& events) {
  const auto same = std::ranges::find(events, address, &XidEvent::pci_address);
  if (same != events.end()) events.erase(same);
}

/// That nothing was there to be sampled is no answer to these questions.
Absent why_none(Return code) {
  const Absent why = code == success ? Absent::failed : why_absent(code);
  return why == Absent::not_sampled ? Absent::failed : why;
}

bool can_be_asked(const Api& api) {
  return api.nvmlEventSetCreate.call != nullptr && api.nvmlEventSetFree.call != nullptr &&
         api.nvmlDeviceRegisterEvents.call != nullptr &&
         (api.nvmlEventSetWait_v2.call != nullptr || api.nvmlEventSetWait.call != nullptr);
}

}  // namespace

Return EventWatch::add(const Api& api, const EventSource& device) {
  unsigned long long types = wanted;
  if (api.nvmlDeviceGetSupportedEventTypes.call != nullptr) {
    const Return code = api.nvmlDeviceGetSupportedEventTypes.call(device.handle, &types);
    if (code != success) return code;
    types &= wanted;
  }
  if (types == 0) return not_supported;
  return api.nvmlDeviceRegisterEvents.call(device.handle, types, set_);
}

void EventWatch::add_new(const Api& api, std::span<const EventSource> devices) {
  for (const EventSource& device : devices) {
    if (!asked_.insert(device.handle).second) continue;
    const Return code = add(api, device);
    if (code == success) {
      any_registered_ = true;
    } else {
      refusal_ = code;
      wants_initialising_ |= nvml::wants_initialising(code);
    }
  }
}

Return EventWatch::fetch(const Api& api, std::span<const EventSource> devices, WallTime now,
                         std::vector<XidEvent>& events) {
  const auto& newest = api.nvmlEventSetWait_v2;
  const auto& wait = newest.call != nullptr ? newest : api.nvmlEventSetWait;
  std::vector<XidEvent> double_bit_errors;
  Return end = success;
  for (int i = 0; i < most_at_once && end == success; ++i) {
    EventData event{};
    end = wait.call(set_, &event, 0);
    const auto xid = end == success ? xid_of(event) : std::nullopt;
    const auto device = std::ranges::find(devices, event.device, &EventSource::handle);
    if (!xid || device == devices.end()) continue;
    auto& list = event.type == event_double_bit_error ? double_bit_errors : events;
    list.push_back({.pci_address = device->pci_address,
                    .code = *xid,
                    .at = now,
                    .pid = Absent::unsupported,
                    .process = Absent::unsupported});
  }
  for (const XidEvent& event : events) {
    if (event.code == xid_double_bit) drop_one_like(event.pci_address, double_bit_errors);
  }
  events.insert(events.end(), double_bit_errors.begin(), double_bit_errors.end());
  return end == success ? timed_out : end;
}

Reading<std::vector<XidEvent>> EventWatch::news(const Api& api,
                                                std::span<const EventSource> devices,
                                                WallTime now) {
  wants_initialising_ = false;
  if (!can_be_asked(api)) return Absent::unsupported;
  if (set_ == nullptr) {
    const Return code = api.nvmlEventSetCreate.call(&set_);
    if (code != success || set_ == nullptr) {
      set_ = nullptr;
      wants_initialising_ = nvml::wants_initialising(code);
      return why_none(code);
    }
  }
  add_new(api, devices);
  if (!any_registered_) return why_none(refusal_);
  std::vector<XidEvent> events;
  const Return end = fetch(api, devices, now, events);
  if (end == timed_out) return events;
  wants_initialising_ |= nvml::wants_initialising(end);
  // A set in which a device was lost says nothing but that: the others get a new one.
  close(api);
  if (events.empty() && end != gpu_is_lost) return why_none(end);
  return events;
}

void EventWatch::close(const Api& api) {
  if (set_ != nullptr && api.nvmlEventSetFree.call != nullptr) api.nvmlEventSetFree.call(set_);
  set_ = nullptr;
  asked_.clear();
  any_registered_ = false;
  refusal_ = not_supported;
}

}  // namespace berth::nvml
