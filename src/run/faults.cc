#include "run/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

constexpr std::array kinds = {FaultKind::lost, FaultKind::failed, FaultKind::error,
                              FaultKind::job_error};

/// The device in a look. A device that was lost before this process asked for its UUID is found by
/// its number.
const Device* as_seen(const Device& given, const Snapshot& look) {
  if (const Device* seen = find_device(given.id, look)) return seen;
  if (!given.index || given.parent) return nullptr;
  const auto nameless = std::ranges::find_if(look.devices, [&](const Device& device) {
    return device.index == given.index && !device.parent && !device.uuid.has_value();
  });
  return nameless == look.devices.end() ? nullptr : &*nameless;
}

/// Whether the driver answered, and the look lacks the device, or the card of an instance. An
/// instance that is gone from a card that is there was taken away by its administrator.
bool is_missing(const Device& given, const Snapshot& look) {
  const bool answered = std::ranges::any_of(look.sources, [&](const SourceReport& report) {
    return report.source == facts_of(given.kind).source && report.succeeded;
  });
  if (!answered) return false;
  const DeviceId& id = given.parent ? *given.parent : given.id;
  const Device* card = find_device(id, look);
  if (given.parent) return card == nullptr || card->lost;
  return card == nullptr && std::ranges::none_of(look.devices, [&](const Device& device) {
           return device.index && given.pci_address.get() &&
                  device.pci_address.get() == *given.pci_address.get();
         });
}

}  // namespace

std::string to_line(const FaultNews& news) {
  return fmt::format("{} {} {} {}", name_of(news.kind), news.device, news.code,
                     printable(news.text.english()));
}

namespace {
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view first = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return first;
}
}  // namespace

std::optional<Note> note_from_line(std::string_view line) {
  if (take_word(line) != "event" || line.find(' ') == line.npos) return std::nullopt;
  const std::string_view kind = take_word(line);
  return Note{std::string(kind), Sentence(line)};
}

std::optional<FaultNews> fault_from_line(std::string_view line) {
  const std::string_view kind = take_word(line);
  const auto* known =
      std::ranges::find_if(kinds, [kind](FaultKind one) { return name_of(one) == kind; });
  const auto device = parse_unsigned(take_word(line));
  const std::string_view code = take_word(line);
  if (known == kinds.end() || !device || code.empty() || line.empty()) return std::nullopt;
  return FaultNews{*known, static_cast<std::size_t>(*device), std::string(code), Sentence(line)};
}

std::vector<DeviceFault> without_errors_of_others(std::vector<DeviceFault> faults,
                                                  const std::set<pid_t>& own) {
  std::erase_if(faults, [&](const DeviceFault& fault) {
    return fault.kind == FaultKind::job_error && fault.pid &&
           !own.contains(static_cast<pid_t>(*fault.pid));
  });
  return faults;
}

std::vector<FaultNews> FaultWatch::news(const std::vector<DeviceFault>& found,
                                        const Snapshot& look) {
  const bool first = std::exchange(first_, false);
  std::vector<FaultNews> news;
  for (std::size_t place = 0; place < given_.size(); ++place) {
    const Device* seen = as_seen(given_[place], look);
    if (seen == nullptr) {
      if (!is_missing(given_[place], look)) continue;
      add_news(
          place,
          {given_[place].id, FaultKind::lost, "lost", WhyUnusable(Unusable::unlisted).said(), {}},
          first, news);
      continue;
    }
    for (const DeviceFault& fault : found) {
      if (fault.device == seen->id) add_news(place, fault, first, news);
    }
  }
  return news;
}

void FaultWatch::add_news(std::size_t place, const DeviceFault& fault, bool first,
                          std::vector<FaultNews>& news) {
  if (!seen_.emplace(place, fault.code).second) return;
  const bool reported = fault.kind == FaultKind::error || fault.kind == FaultKind::job_error;
  if (first && (reported || known_ == Known::what_the_first_look_finds)) return;
  news.push_back({fault.kind, place, fault.code,
                  sentence("{}: {}", name_for_people(given_[place]), fault.evidence)});
}

}  // namespace berth
