#pragma once
// Which offsets of a ledger file are locked, and what each lock says. Offsets beyond a file's end
// can be locked as well; a lock changes neither the file nor its st_ctime, can be asked for by
// everybody, set by nobody but the file's owner, and is gone with its process. So a waiter tells
// its changing state by locks and never by writing.

#include "base/clock.h"
#include "base/lock.h"

namespace berth {

/// A lease is alive while any part of its file is locked; it locks all of it.
constexpr ByteRange lease_life{.start = 0, .length = 0};

constexpr ByteRange ticket_life{.start = 0, .length = off_t{1} << 30};
constexpr ByteRange ticket_passed{.start = off_t{1} << 30, .length = 1};
/// One byte per device of the ticket's own list.
constexpr ByteRange ticket_gathered{.start = off_t{1} << 31, .length = 4096};
/// One byte at `start` + milliseconds of the steady clock, which all processes of a boot share.
constexpr ByteRange ticket_beat{.start = off_t{1} << 32, .length = 0};

[[nodiscard]] constexpr ByteRange gathered_byte(std::size_t device) {
  return {.start = ticket_gathered.start + static_cast<off_t>(device), .length = 1};
}

[[nodiscard]] constexpr ByteRange beat_byte(Instant at) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch());
  return {.start = ticket_beat.start + static_cast<off_t>(since.count()), .length = 1};
}

[[nodiscard]] constexpr Instant instant_of_beat(off_t start) {
  return Instant(std::chrono::milliseconds(start - ticket_beat.start));
}

}  // namespace berth
