#pragma once
// The ledger's directory and the names in it: what src/lease's files share and nobody else sees.

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

/// A place further than this is a lie or a broken clock: 2262 is where nanoseconds end.
constexpr std::int64_t furthest_place = 9'000'000'000'000'000'000;

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

/// A file somebody else may have put there, opened so that it can trick nobody.
[[nodiscard]] Result<Fd> open_entry(int directory, const std::string& name);

/// Is the descriptor's file the one that the name stands for?
[[nodiscard]] bool is_named(int fd, int directory, const std::string& name);

}  // namespace berth
