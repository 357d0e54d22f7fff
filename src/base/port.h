#pragma once
// A TCP port kept for a program that will listen on it later.

#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "base/result.h"

namespace berth {

struct HeldPort {
  std::uint16_t number = 0;
  /// As long as it is open, the kernel gives this port to nobody who asks for any. It is bound and
  /// does not listen, so that a program which sets SO_REUSEADDR (PyTorch's store, gRPC, asyncio)
  /// can listen there.
  Fd socket;
};
/// Any free one, or this one. busy: somebody has it.
[[nodiscard]] Result<HeldPort> hold_port(std::optional<std::uint16_t> wanted);

}  // namespace berth
