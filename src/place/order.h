#pragma once
// The queue's order: who comes first, and why. One pure function, which every waiter, every list of
// the queue and the simulation ask.
//
// A ticket stands where it came, moved by its priority: a step is worth Policy::priority_step of
// waiting. It is moved back by what its owner has used, Policy::fair_share at most. That does not
// depend on the time of the look, so all lists agree. Nobody overtakes a ticket that came earlier
// by more than these moves. place() decides who may start at all.

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "place/policy.h"
#include "snapshot/claim.h"

namespace berth {

/// How the writer of a ticket orders the queue: 1 by arrival alone (berth 0.1.0), 2 as here. For
/// people: each keeps to its own rule, and who disagrees about a turn takes it 4.5 s later.
constexpr unsigned order_rule = 2;

/// What the order asks of a ticket: its file's name and facts, never its text.
struct TicketFacts {
  uid_t uid = 0;                      // the file's owner
  Priority asked = Priority::normal;  // by its name
  /// When it came, in nanoseconds since 1970. Not before its file appeared (st_ctime, which nobody
  /// can set). The date may be set back while others wait: then its name moves it behind them.
  /// Nobody gains by lying.
  std::int64_t place = 0;
  std::int64_t arrived = 0;  // when its file appeared
  std::string name = {};     // its file's
};

/// A ticket in its order.
struct QueueTurn {
  std::size_t ticket = 0;               // its place in what was given
  Priority counted = Priority::normal;  // no more than the policy allows its owner
  std::int64_t stands_at = 0;           // as if it had come then
};

[[nodiscard]] std::vector<QueueTurn> order(std::span<const TicketFacts> tickets,
                                           const Policy& policy);

}  // namespace berth
