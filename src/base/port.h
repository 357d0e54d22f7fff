#pragma once
// A TCP port kept for a program that will listen on it later.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace berth {

struct HeldPort {
  std::uint16_t number = 0;
  /// As long as it is open, the kernel gives this port to nobody who asks for any. It is bound and
  /// does not listen. So a program that sets SO_REUSEADDR (PyTorch's store, gRPC, asyncio) can
  /// listen there.
  Fd socket;
};
/// Any free one, or this one. busy: somebody has it.
[[nodiscard]] Result<HeldPort> hold_port(std::optional<std::uint16_t> wanted);

/// In a table of the kernel's (/proc/PID/net/tcp, tcp6): inodes of sockets that listen at the port,
/// or are connected to it or from it. Sorted.
[[nodiscard]] std::vector<std::uint64_t> sockets_at_port(std::string_view table,
                                                         std::uint16_t port);

}  // namespace berth
