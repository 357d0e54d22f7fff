#pragma once
// What the machine is made of, kept from day to day. One look cannot show that a driver was
// exchanged since yesterday. Nor that a card is gone or has another number.
// Such a change explains what nothing in one look can.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "snapshot/snapshot.h"

namespace berth {

/// By what it is ("driver", "kernel", "CUDA toolkit", or a device's id): how it is. What could not
/// be read this time is not in it.
struct Environment {
  std::map<std::string, std::string> facts;
  /// Whether the devices in it are all there are: the driver has listed them.
  bool lists_devices = false;
  /// Lost cards that cannot say who they are, by their numbers.
  std::vector<int> nameless;
};

/// Before the names of vendors and runtimes whose facts are not the unnamed_vendor's.
inline constexpr std::string_view driver_key = "driver of ";
inline constexpr std::string_view runtime_key = "version of ";

/// `toolkit`: the CUDA toolkit's version where one is installed; empty: none is; nothing: nobody
/// looked.
[[nodiscard]] Environment environment_of(const Snapshot& snapshot,
                                         const std::optional<std::string>& toolkit);

/// From the text of /usr/local/cuda/version.json. Nothing: it does not say.
[[nodiscard]] std::optional<std::string> toolkit_version(std::string_view text);

struct EnvironmentChange {
  std::string what;                 // as a key of Environment::facts
  std::optional<std::string> from;  // nothing: it was not there
  std::optional<std::string> to;    // nothing: it is gone
  WallTime at;
  friend bool operator==(const EnvironmentChange&, const EnvironmentChange&) = default;
};

class EnvironmentMemory {
 public:
  /// What an earlier one knew. Nothing: what is seen first is what was always there.
  void restore(std::map<std::string, std::string> facts, std::vector<EnvironmentChange> changes);

  /// A further look. What differs for as long as `settling` is a change.
  void see(const Environment& now, Moment when, Duration settling);

  /// Those of the last day, one per thing.
  [[nodiscard]] const std::vector<EnvironmentChange>& changes() const { return changes_; }
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
  /// Cards by their last seen numbers. One that was lost before the first look cannot say which
  /// card it is.
  [[nodiscard]] std::map<int, DeviceId> cards() const;
  /// Counts whatever changes facts() and changes().
  [[nodiscard]] std::uint64_t change() const { return change_; }

  static constexpr std::size_t most_facts = 4096;
  static constexpr std::size_t most_changes = 256;

 private:
  struct Candidate {
    std::optional<std::string> to;
    Instant since{};
    WallTime at;
  };
  void weigh(const std::string& what, const std::optional<std::string>& to, Moment when,
             Duration settling);

  std::map<std::string, std::string> facts_;
  std::vector<EnvironmentChange> changes_;
  std::map<std::string, Candidate> candidates_;
  bool knows_devices_ = false;
  std::uint64_t change_ = 0;
};

}  // namespace berth
