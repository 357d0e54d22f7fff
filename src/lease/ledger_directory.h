#pragma once
// The ledger's directory and the names in it: what src/lease's files share and nobody else sees.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "lease/ledger.h"
#include "place/order.h"

namespace berth {

constexpr const char* host_lock_name = "host.lock";
constexpr std::string_view lease_prefix = "lease-";
constexpr std::string_view ticket_prefix = "ticket-";
/// Files being written: never claims, swept when their writer has died.
constexpr std::string_view temporary_prefix = ".new-";

/// The place in the queue that a ticket's name claims, in nanoseconds since 1970; 0: none.
[[nodiscard]] std::int64_t place_in(std::string_view ticket_name);

/// What the queue's order (place/order.h) asks of a ticket.
[[nodiscard]] TicketFacts ticket_facts(const std::string& ticket_name, const struct stat& facts);
/// "-high", "-low": the end of a ticket's name; empty: normal, as berth 0.1.0 writes it.
[[nodiscard]] std::string name_suffix(Priority priority);

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

/// A lease on 512 devices is smaller. Of a larger file the beginning is read, and that is said.
constexpr std::size_t largest_file = 64 << 10;
/// At most so many bytes: a huge file costs no more than a small one.
[[nodiscard]] Result<std::string> read_beginning(int fd);

/// A file that another user may have put there, opened so that it tricks nobody. io: opening failed
/// for no fault of the file, so its content counts as unread.
[[nodiscard]] Result<Fd> open_entry(int directory, const std::string& name);

}  // namespace berth
