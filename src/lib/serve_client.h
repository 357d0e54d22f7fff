#pragma once
// ServeClient: the newest look of a `berth serve` on this machine, over its Unix socket. Only a
// server of root's or of this user's is believed; what it says is a stranger's until it is checked.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "lib/seen.h"

namespace berth::lib {

/// A new connection, which does not block; -1: there is none. BERTH_SERVE_SOCKET names its socket.
/// `sim`: of a simulated server; empty: of this machine.
[[nodiscard]] Fd connect_to_serve(const std::string& sim);

class ServeClient {
 public:
  explicit ServeClient(std::string sim) : sim_(std::move(sim)) {}

  /// Null: no such server, or its look is older than that or another machine's. Never slow: it is
  /// given up after a fifth of a second. The same look is read once.
  [[nodiscard]] std::shared_ptr<const Seen> look(std::uint32_t max_age_ms);

 private:
  [[nodiscard]] bool connect();
  /// Whether there was an answer: `newest_` is what it said.
  [[nodiscard]] bool fetch();

  std::string sim_;
  Fd socket_;
  pid_t owner_ = 0;
  std::string tag_;  // the server's name of `newest_`
  std::shared_ptr<const Seen> newest_;
};

}  // namespace berth::lib
