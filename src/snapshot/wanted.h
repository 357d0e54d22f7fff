#pragma once
// Wanted: what a caller prints or decides by, and so what a look reads. A question that feeds none
// of it is not asked. The devices' identity (index, UUID, PCI address) is always read: it names one
// that stops answering.
//
//   Wanted wanted;
//   wanted.add(*find_field("power.draw")).add(Extra::processes);
//   look = context.look(wanted);

#include <bit>
#include <bitset>
#include <cstddef>

#include "snapshot/details.h"
#include "snapshot/device.h"

namespace berth {

struct Field;

/// What stands in a snapshot beside the readings of its devices.
enum class Extra {
  driver_version,
  runtime_version,  // of CUDA, of ROCm
  library_version,  // and whether it is the kernel module's
  excluded_devices,
  host,               // its name, kernel and boot id
  devices,            // those of the driver; without it not even who they are
  other_devices,      // those that the kernel lists and no source numbers
  instances,          // of MIG
  instance_readings,  // what they share, and what is read of them alone
  verdicts,           // what a device is judged failed by
  processes,          // who the driver lists on a device
  process_load,       // how busy each of them makes it
  process_engines,    // also of the engines that only the newer drivers tell of
  process_names,      // what program each is
  process_owners,     // whose they are, since when, from which parents
  enclosures,         // the names of their containers
  leases,             // and who waits
  retired_pages,      // Device::lists, one by one
  accounted_processes,
  supported_clocks,
  nvlinks,
  sleepers,  // cards that sleep are woken up to be read
};

/// Sets that many looks want, each more than the one before. Placement needs less than the sampler,
/// both less than `status --json`. That needs no Device::lists.
enum class Depth { placement, state, everything, details, lists };

class Wanted {
 public:
  Wanted() = default;
  Wanted(Depth depth);  // NOLINT(google-explicit-constructor): a depth is a set of what is wanted

  /// With what a reading is made of, where that is not read by the same question.
  Wanted& add(const Field& field);
  Wanted& add(Detail detail) {
    details_.set(static_cast<std::size_t>(detail));
    return *this;
  }
  Wanted& add(Extra extra) {
    extras_.set(static_cast<std::size_t>(extra));
    return *this;
  }
  /// A reading that is a member of Device.
  template <auto... Members>
  Wanted& add() {
    (members_.set(place_of(Members)), ...);
    return *this;
  }
  Wanted& add(const Wanted& more);
  [[nodiscard]] Wanted without(const Wanted& known) const;

  [[nodiscard]] bool has(Detail detail) const {
    return details_.test(static_cast<std::size_t>(detail));
  }
  [[nodiscard]] bool has(Extra extra) const {
    return extras_.test(static_cast<std::size_t>(extra));
  }
  /// One of these members.
  template <auto... Members>
  [[nodiscard]] bool has() const {
    return (members_.test(place_of(Members)) || ...);
  }
  [[nodiscard]] bool has_details() const { return details_.any(); }
  [[nodiscard]] bool has_lists() const {
    return has(Extra::retired_pages) || has(Extra::accounted_processes) ||
           has(Extra::supported_clocks) || has(Extra::nvlinks);
  }
  friend bool operator==(const Wanted&, const Wanted&) = default;

 private:
  /// Its own for each member: a pointer to one is its offset, by the ABI of every Linux.
  template <class Member>
  static std::size_t place_of(Member Device::* member) {
    return std::bit_cast<std::size_t>(member) / alignof(Device);
  }

  std::bitset<detail_count> details_;
  std::bitset<sizeof(Device) / alignof(Device)> members_;
  std::bitset<32> extras_;
};

}  // namespace berth
