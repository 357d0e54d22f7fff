#include "probe/missing_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/sentence.h"
#include "probe/device_source.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

bool is_listed(const Device& device) {
  return is_supported(device) && device.index && !device.parent;
}

/// Without UUID and place nobody could tell it from another.
bool has_a_name(const Device& device) { return device.uuid.get() || device.pci_address.get(); }

bool has_the_place_of(const Device& one, const Device& other) {
  return one.pci_address.get() && other.pci_address.get() &&
         *one.pci_address.get() == *other.pci_address.get();
}

/// Its identity may be known better in one look than in another: by its UUID or by its place alone.
bool is_same(const Device& one, const Device& other) {
  return one.id == other.id || has_the_place_of(one, other);
}

bool is_excluded(const Device& device, const Snapshot& snapshot) {
  const auto& excluded = snapshot.host.excluded_devices.get();
  return excluded && std::ranges::any_of(*excluded, [&](const ExcludedDevice& one) {
           return device.pci_address.get() == one.pci_address || device.uuid.get() == one.uuid;
         });
}

Problem problem_of(const Device& device, int index) {
  const DeviceKindFacts& facts = facts_of(device.kind);
  return {.source = std::string(facts.source),
          .device = device.id,
          .code = "device_gone",
          .message = sentence("{} was there before: the driver lists it no longer",
                              shown_as(index, device)),
          .remedy = sentence("{}; {}", Sentence(facts.log_advice),
                             sentence("the other devices may have other numbers now"))};
}

/// The card's row among those that the PCI bus alone told of; the end: it is gone from there, too.
auto found_by_pci(const Device& device, std::vector<Device>& devices) {
  return std::ranges::find_if(devices, [&](const Device& other) {
    return !other.index && !other.parent && has_the_place_of(other, device);
  });
}

void add_missing(const Device& known, Snapshot& snapshot) {
  Device row = known;
  row.index.reset();  // another may have its number now
  row.lost = true;
  row.unusable_because = Unusable::unlisted;
  const auto by_pci = found_by_pci(known, snapshot.devices);
  if (by_pci == snapshot.devices.end()) {
    snapshot.devices.push_back(std::move(row));
  } else if (!known.kernel_driver.get() ||
             by_pci->kernel_driver.get() == known.kernel_driver.get()) {
    *by_pci = std::move(row);
  } else {
    return;  // taken away: its row says by whom
  }
  snapshot.problems.push_back(problem_of(known, known.index.value_or(0)));
}

}  // namespace

void MissingDevices::add_to(Snapshot& snapshot) {
  const auto has_answered = [&](std::string_view source) {
    return std::ranges::any_of(snapshot.sources, [&](const SourceReport& report) {
      return report.succeeded && report.source == source;
    });
  };
  // One maker's answer says nothing of another's silence. The bus speaks for a driver's files: once
  // the last card is pulled out, they do not answer. It does not speak for a library. A library may
  // know cards that the bus never told of (WSL, a container). It is silent while its driver is
  // exchanged.
  const auto can_be_missed = [&](const Device& device) {
    const std::string_view source = facts_of(device.kind).source;
    const bool is_of_files = std::ranges::any_of(all_sources(), [&](const SourceFacts& one) {
      return !one.is_library && facts_of(one.kind).source == source;
    });
    const bool is_off_the_bus = has_answered("pci") && device.pci_address.get() &&
                                std::ranges::none_of(snapshot.devices, [&](const Device& one) {
                                  return has_the_place_of(one, device);
                                });
    return (is_of_files && is_off_the_bus) || has_answered(source);
  };
  const std::vector<Device>& now = snapshot.devices;
  // A device that did not identify itself may be the missing one.
  const auto may_be = [&](const Device& known) {
    return std::ranges::any_of(now, [&](const Device& device) {
      const bool is_its_makers = facts_of(device.kind).source == facts_of(known.kind).source;
      return is_its_makers && is_listed(device) && !has_a_name(device);
    });
  };
  std::vector<Device> missing;
  for (const Device& known : present_) {
    if (!can_be_missed(known) || may_be(known)) continue;
    const bool there = std::ranges::any_of(
        now, [&](const Device& device) { return is_listed(device) && is_same(device, known); });
    if (!there && !is_excluded(known, snapshot)) missing.push_back(known);
  }
  for (const Device& device : now) {
    if (!is_listed(device) || !has_a_name(device)) continue;
    const auto known =
        std::ranges::find_if(present_, [&](const Device& one) { return is_same(one, device); });
    if (known == present_.end()) {
      present_.push_back(only_facts(device, Absent::failed));
    } else {
      *known = only_facts(device, Absent::failed);
    }
  }
  for (const Device& known : missing) add_missing(known, snapshot);
}

}  // namespace berth
