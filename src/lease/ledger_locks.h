#pragma once
// Which offsets of a ledger file are locked, and what each lock says. A lock may lie far beyond the
// file's end. It changes neither the file nor its st_ctime, and is gone with its process.
//
// Every user may read these files, and so may put read locks on them. A read lock refuses the
// owner's next write lock. So the owner takes every lock of a file before anybody else can open it.
// From then on it only lets go: others read how much it has let go. No other lock can hinder that.

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/lock.h"

namespace berth {

/// A lease is alive while any part of its file is locked; it locks all of it.
constexpr LockRange lease_life{.start = 0, .length = 0};

constexpr LockRange ticket_life{.start = 0, .length = off_t{1} << 30};

/// The lock begins at the millisecond at which the waiter was last awake: it has let go all before.
/// By the steady clock, which all processes of a boot share.
constexpr LockRange ticket_beat{.start = off_t{1} << 32,
                                .length = (off_t{1} << 62) - (off_t{1} << 32)};

/// One stretch of bytes per flag. A flag is on where an odd number of its bytes has been let go.
constexpr off_t flag_length = off_t{1} << 20;
constexpr off_t most_flags = 4096;
constexpr LockRange ticket_flags{.start = off_t{1} << 62, .length = flag_length * most_flags};
/// What a flag says. `passed_flag`: the waiter leaves something of what is free. From
/// `first_gathered` on, one per device of the ticket's own list: it gathers that device.
constexpr std::size_t passed_flag = 0;
constexpr std::size_t first_gathered = 1;
/// The last one's bytes are no flag. As many bytes are let go as there are seconds from the
/// ticket's beginning to the end of its gathering.
constexpr std::size_t until_flag = most_flags - 1;

/// berth 0.1.0 takes these while they are so, and reads no others of the flags. A reader's lock may
/// refuse them.
constexpr LockRange ticket_passed_0_1{.start = off_t{1} << 30, .length = 1};
constexpr LockRange ticket_gathered_0_1{.start = off_t{1} << 31, .length = most_flags};

/// What is locked of the beat and the flags of somebody awake `at` that moment who has no flag set.
[[nodiscard]] constexpr LockRange locked_from_beat(Instant at) {
  const off_t start = ticket_beat.start + static_cast<off_t>(steady_ms(at));
  return {.start = start, .length = ticket_flags.start + ticket_flags.length - start};
}

[[nodiscard]] constexpr Instant instant_of_beat(off_t start) {
  return Instant(std::chrono::milliseconds(start - ticket_beat.start));
}

/// The byte whose letting go changes a flag that has been changed so often.
[[nodiscard]] constexpr LockRange flag_change(std::size_t flag, off_t changed_before) {
  const off_t start = ticket_flags.start + static_cast<off_t>(flag) * flag_length;
  return {.start = start + changed_before, .length = 1};
}

/// The flags that are on, ascending, as somebody else reads them. Nothing: a ticket of berth 0.1.0.
[[nodiscard]] std::optional<std::vector<std::size_t>> flags_on(int fd);
/// How many seconds after it came a ticket gathers no longer; nothing: it has not gathered yet.
[[nodiscard]] std::optional<std::int64_t> gathers_until_s(int fd);

}  // namespace berth
