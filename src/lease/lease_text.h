#pragma once
// The ledger's files as text (doc/FORMATS.md, "Ledger"): pure, bytes in and values out. What is
// read here was written by strangers.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "place/order.h"
#include "snapshot/claim.h"

namespace berth {

/// The newest format this program writes and understands beyond line 1.
constexpr unsigned ledger_format = 1;

/// A lease file's content. Line 1 gives the claim; the rest only describes.
struct LeaseText {
  unsigned format = ledger_format;
  /// The machine's steady clock (base/clock.h steady_ms) when it was taken: its age, for people,
  /// where the date was set since.
  std::optional<std::int64_t> steady_ms = {};
  /// The job is ended after so long; nothing: it has no limit.
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// Its devices, what walk_said() (snapshot/walk.h) names, and the user id that its writer gave.
  Claim claim = {};
  friend bool operator==(const LeaseText&, const LeaseText&) = default;
};

/// invalid: no device, a device with no plain name, or whole devices and shares in one lease.
[[nodiscard]] Result<std::string> write_lease(const LeaseText& lease);
/// invalid: line 1 is not that of a lease. A newer format is read as far as line 1.
[[nodiscard]] Result<LeaseText> parse_lease(std::string_view text);
/// Lines to append to a lease: what has become known since of what walk_said() names.
[[nodiscard]] std::string write_description(const Claim& known);

/// The line to append that gives it another time limit.
[[nodiscard]] std::string write_time_limit(std::chrono::milliseconds limit);

/// A ticket file's content.
struct TicketText {
  unsigned format = ledger_format;
  unsigned order = order_rule;
  /// The queue place (nanoseconds since 1970) of the last ticket seen when this one was made. This
  /// one stands behind it, even where the date was set back in between. As it can only move its own
  /// ticket backwards, nobody gains by lying.
  std::int64_t not_before_ns = 0;
  std::optional<std::int64_t> steady_ms = {};  // as in LeaseText
  /// What walk_said() (snapshot/walk.h) names, its time limit, and the user id of its writer.
  Waiter waiter = {};
  std::vector<DeviceId> devices = {};  // what it could ever be given, for `gathered`
  friend bool operator==(const TicketText&, const TicketText&) = default;
};

[[nodiscard]] std::string write_ticket(const TicketText& ticket);
/// invalid: line 1 is not that of a ticket. A newer format is read as far as line 1.
[[nodiscard]] Result<TicketText> parse_ticket(std::string_view text);

/// A reservation that is to begin later.
struct PlannedText {
  WallTime at = {};
  std::chrono::milliseconds lasts{0};
  std::vector<std::string> words = {};  // of its request, as typed
  /// NAME=/path of HOME, XDG_STATE_HOME and XDG_CONFIG_HOME: where its owner's records lie.
  std::vector<std::string> homes = {};
  bool begun = false;
  std::string failed = {};  // why it could not be started
  [[nodiscard]] WallTime end() const { return {at.unix_ms + lasts.count()}; }
  /// It is time to start it, and nobody has tried.
  [[nodiscard]] bool is_due(WallTime now) const { return at <= now && !begun && failed.empty(); }
  friend bool operator==(const PlannedText&, const PlannedText&) = default;
};

/// A limit of the kernel that a run asks for, and what root's service did.
struct LimitText {
  ProcessId process;                    // who asks, and whose children are to be held
  std::map<std::string, Bytes> limits;  // by UUID
  std::string instead_of = {};          // the name of an earlier one, whose group it is in
  // Root's answer.
  uid_t uid = 0;
  std::string group;        // the control group that was made for it
  bool is_held = false;     // it is in there, and the limits are set
  std::string failed = {};  // why not
  friend bool operator==(const LimitText&, const LimitText&) = default;
};

[[nodiscard]] std::string write_limit(const LimitText& limit);
/// invalid: line 1 is not that of such a file.
[[nodiscard]] Result<LimitText> parse_limit(std::string_view text);

[[nodiscard]] std::string write_planned(const PlannedText& planned);
/// invalid: line 1 is not that of such a file, or no time, or for no time.
[[nodiscard]] Result<PlannedText> parse_planned(std::string_view text);

}  // namespace berth
