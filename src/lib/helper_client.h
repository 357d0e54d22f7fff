#pragma once
// HelperClient: this process's end of a `berth helper`, which looks, chooses and claims for it. The
// helper is started by posix_spawn: a fork would copy the host's tables and the locks of its
// threads. It is no child of the host for long: its first process leaves at once.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/line_socket.h"
#include "base/result.h"
#include "lib/seen.h"

namespace berth::lib {

/// What a helper is told at its start.
struct HelperPlace {
  std::string program;
  std::vector<std::string> options;    // --sim NAME
  std::vector<std::string> variables;  // NAME=value, in place of the host's own
};

/// The berth program: as named; BERTH_HELPER; beside the library; on PATH. As root only one that
/// root alone can change. not_found, no_permission: says where it was looked for.
[[nodiscard]] Result<std::string> find_program(const std::string& named);

struct Message {
  Json json;
  std::string line;  // as it came; its last member is "look", where it has one
  Fd descriptor;     // of a lease
};

class HelperClient {
 public:
  HelperClient(HelperClient&&) = default;
  HelperClient& operator=(HelperClient&&) = delete;
  /// A child that was forked since has a copy of the socket, and would keep the helper waiting.
  ~HelperClient();

  /// Starts one and hears its version. unsupported: it is too old or too new for this library.
  [[nodiscard]] static Result<HelperClient> start(const HelperPlace& place);

  /// Readable when there is something to receive.
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// False in a process forked since: the helper is its parent's.
  [[nodiscard]] bool is_ours() const;
  [[nodiscard]] Result<void> ask(const Json& question);
  /// A message that is there; nothing: not yet. Never blocks. io: the helper has ended.
  [[nodiscard]] Result<std::optional<Message>> receive();
  /// False: nothing has come until then.
  [[nodiscard]] bool wait_readable(Instant deadline) const;
  /// The next message, waited for. timeout: it did not come.
  [[nodiscard]] Result<Message> wait(Instant deadline);

 private:
  HelperClient(Fd socket, std::string program);

  LineSocket socket_;
  std::string program_;
  pid_t owner_;
};

/// The variables of this process that change what a helper answers, as they are now.
[[nodiscard]] Json own_variables();

}  // namespace berth::lib
