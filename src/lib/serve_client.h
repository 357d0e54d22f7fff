#pragma once
// ServeClient: the newest look of a `berth serve` on this machine, over its Unix socket. Only a
// server of root's or of this user's is believed. Its answers are checked as a stranger's.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "lib/parsed_look.h"

namespace berth::lib {

/// A new connection, which does not block; -1: there is none. BERTH_SERVE_SOCKET names its socket.
/// `sim`: of a simulated server; empty: of this machine.
[[nodiscard]] Fd connect_to_serve(const std::string& sim);

class ServeClient {
 public:
  explicit ServeClient(std::string sim) : sim_(std::move(sim)) {}

  /// Null: no such server, or its look is older than that or another machine's. Never slow: it is
  /// given up after a fifth of a second. The same look is read once.
  [[nodiscard]] std::shared_ptr<const ParsedLook> look(std::uint32_t max_age_ms);
  /// The ids of the look's devices that this process sees, in CUDA's order. JSON's null: they
  /// cannot be told. Nothing: an older berth's server does not tell.
  [[nodiscard]] const std::optional<Json>& visible();

 private:
  struct Answer {
    bool is_unchanged = false;  // since `tag`
    bool is_given = false;      // it has what was asked for: 200
    std::string tag;
    std::string body;
  };
  [[nodiscard]] bool connect();
  /// Nothing: it does not answer.
  [[nodiscard]] std::optional<Answer> ask(const std::string& target, const std::string& tag = {});
  /// Whether there was an answer: `newest_` is what it said.
  [[nodiscard]] bool fetch();

  std::string sim_;
  Fd socket_;
  pid_t owner_ = 0;
  std::string tag_;  // the server's name of `newest_`
  std::shared_ptr<const ParsedLook> newest_;
  std::string visible_for_;  // what `visible_` is the answer to; empty: not asked of `newest_`
  std::optional<Json> visible_;
};

}  // namespace berth::lib
