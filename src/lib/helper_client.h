#pragma once
// HelperClient: this process's end of a `berth helper`, which looks, chooses and claims for it. The
// helper is started by posix_spawn. A fork would copy the host's tables (177 ms for 2 GiB) and the
// locks of its threads. It is no child of the host for long: its first process leaves at once. A
// host that waits for any child meets neither, unless it adopts orphans.
//
// Protocol 1: a line of JSON each way. First `berth_helper` (its newest protocol), `oldest` and
// `version`; a question's `protocol` (absent: 1) lies between. A question has `ask`:
// - look, with `depth` 0 to 3 or `fields`: `visible` (what the host calls a device, by id), `look`.
// - pick, with `request` (texts, named as job_keys()): `placement`.
// - lease, with `request`, `wait_ms` (-1: for ever), `record`, `fields`: `news` at each change,
//   then `lease`, with `placement`, `visible`, `look` and the descriptor, or `refused`. What is
//   asked during a wait ends it. end gives back a recorded lease.
// `variables`: the host's, null where unset. Any answer may be `error`; `note` is for people.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/line_socket.h"
#include "base/result.h"
#include "lib/parsed_look.h"

namespace berth::lib {

/// Where the host has closed its standard streams, no descriptor of ours becomes one.
[[nodiscard]] Fd above_streams(Fd fd);

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
  Json json;                               // without its last member, "look"
  std::shared_ptr<const ParsedLook> look;  // where it has one
  std::string line;                        // as it came, up to there
  Fd descriptor;                           // of a lease
};

class HelperClient {
 public:
  HelperClient(HelperClient&&) = default;
  HelperClient& operator=(HelperClient&&) = delete;
  /// A child that was forked since has a copy of the socket, and would keep the helper waiting.
  ~HelperClient();

  /// Starts one, and waits for nothing it says.
  [[nodiscard]] static Result<HelperClient> start(const HelperPlace& place);

  /// Readable when there is something to receive.
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// False in a process forked since: the helper is its parent's.
  [[nodiscard]] bool is_ours() const;
  /// It has said that it is a helper, of a protocol that this library speaks.
  [[nodiscard]] bool has_greeted() const { return has_greeted_; }
  /// It may be asked before it has greeted.
  [[nodiscard]] Result<void> ask(const Json& question);
  /// A message that is there; nothing: not yet. Never blocks. io: the helper has ended.
  /// unsupported: it is no helper, or too old or too new for this library.
  [[nodiscard]] Result<std::optional<Message>> receive();
  /// Nothing more is asked: it gives up what it is about, and ends.
  void finish_asking() { socket_.finish_sending(); }

 private:
  HelperClient(Fd socket, Fd life, std::string program);
  [[nodiscard]] Result<void> hear_greeting(const Message& greeting) const;

  LineSocket socket_;
  Fd life_;  // of the process; none: an old kernel's
  std::string program_;
  pid_t owner_;
  bool has_greeted_ = false;
};

/// The variables of this process that change what a helper answers, as they are now.
[[nodiscard]] Json own_variables();

}  // namespace berth::lib
