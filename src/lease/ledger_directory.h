#pragma once
// The ledger's directory and the names in it: what src/lease's files share and nobody else sees.

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "lease/ledger.h"

namespace berth {

constexpr const char* host_lock_name = "host.lock";
constexpr std::string_view lease_prefix = "lease-";
constexpr std::string_view ticket_prefix = "ticket-";
/// Files being written: never claims, swept when their writer has died.
constexpr std::string_view temporary_prefix = ".new-";

/// The place in the queue that a ticket's name claims, in nanoseconds since 1970; 0: none.
[[nodiscard]] std::int64_t place_in(std::string_view ticket_name);

/// The queue's order: the smaller key comes first, and nothing else says who is before whom.
struct QueueKey {
  /// When it came, in nanoseconds since 1970. Not before its file appeared (st_ctime, which nobody
  /// can set). Its name moves it further back, behind those that were there when it came, where the
  /// date was set back in between. Nobody gains by lying.
  std::int64_t place;
  std::int64_t arrived;  // when its file appeared
  std::string ticket;    // its file's name
  [[nodiscard]] auto operator<=>(const QueueKey&) const = default;
};
[[nodiscard]] QueueKey queue_key(const std::string& ticket_name, const struct stat& facts);

/// False for file systems whose locks other machines or a user's own program decide about.
[[nodiscard]] bool is_local_file_system(std::uint64_t magic);

/// root's, sticky, mode 1777, with root's regular host.lock in it.
[[nodiscard]] bool is_trusted_shared_ledger(const std::string& path);

/// Checked as its kind demands, and made where the kind allows it.
[[nodiscard]] Result<Fd> open_ledger_directory(const LedgerPlace& place);

/// Never created here, no symbolic link followed, no FIFO waited for.
[[nodiscard]] Result<Fd> open_host_lock(int directory);

/// Names in the directory behind the descriptor, in no order.
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory);

/// A file somebody else may have put there, opened so that it can trick nobody. io: nothing that
/// the file is, so that what is in it counts as unread.
[[nodiscard]] Result<Fd> open_entry(int directory, const std::string& name);

}  // namespace berth
