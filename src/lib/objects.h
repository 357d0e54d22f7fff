#pragma once
// The handles of berth.h, and the border that every call passes. There every failure becomes a code
// and a message.

#include <sys/types.h>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "berth/berth.h"
#include "lib/helper_client.h"
#include "lib/question.h"
#include "lib/serve_client.h"

struct berth_error {
  berth_code code = BERTH_OK;
  std::string message;
};

/// A look, as `berth status --json` prints it.
struct berth_look {
  std::shared_ptr<const berth::lib::ParsedLook> seen;

  /// What this process calls the devices that it sees, by their ids; null: not known.
  berth::Json visible;
  pid_t host = 0;
  [[nodiscard]] const berth::Json& snapshot() const { return seen->known(); }
};

struct berth_answer {
  berth::Json placement;
  std::string text;
};

struct berth_lease {
  std::string id;
  std::string run;
  std::string file;
  std::string inside;  // the folder of those who lease within it
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::optional<std::string>> before;  // of each variable, once they were set
  std::vector<std::size_t> devices;                // of the look
  berth_look look;
  berth::Fd descriptor;
  pid_t owner = 0;
  bool shows_after_init = false;
  bool is_recorded = false;
  std::optional<berth::lib::HelperClient> keeper;  // of its record
};

struct berth_wait {
  std::optional<berth::lib::Question> question;  // none: it is over
  /// Where its helper goes back to: a context's place for one.
  std::weak_ptr<std::optional<berth::lib::HelperClient>> lent_by;
  bool after_init = false;
  bool is_left = false;
  std::string news;
  std::function<void(const std::string&)> note;
};

struct berth_context {
  std::string sim;
  std::string replay;
  std::string ledger;
  std::string named_helper;
  std::uint32_t max_age_ms = 2000;
  std::uint32_t sources = BERTH_FROM_SERVE | BERTH_FROM_HELPER;
  std::function<void(const std::string&)> note;
  std::string program;
  /// One that is asked nothing now.
  std::shared_ptr<std::optional<berth::lib::HelperClient>> helper =
      std::make_shared<std::optional<berth::lib::HelperClient>>();
  /// That a helper is asked in steps.
  std::optional<berth::lib::Question> question;
  enum class Asked { look, pick } asked = Asked::look;
  std::optional<berth::lib::ServeClient> serve;
};

namespace berth::lib {

/// Ids of the leases that this process has taken and holds.
class OwnLeases {
 public:
  static OwnLeases& all();
  void add(const std::string& id);
  void remove(const std::string& id);
  /// Of `path`, which BERTH_LEASE says ("outer/inner"), the last; empty: it is no lease of ours.
  [[nodiscard]] std::string in(const std::string& path);

 private:
  std::mutex mutex_;
  pid_t owner_ = 0;  // in a child forked since they are its parent's
  std::vector<std::string> ids_;
};

/// Why a call of the library failed.
struct Failure {
  berth_code code;
  std::string message;
  Failure(berth_code why, std::string text) : code(why), message(std::move(text)) {}
  Failure(const Error& error);  // NOLINT(google-explicit-constructor)
};
/// Nothing: it went well.
using Outcome = std::optional<Failure>;

/// Does it, and tells the caller in C how it ended. A thread that the host cancels meanwhile ends
/// behind it.
[[nodiscard]] berth_code at_border(berth_error** error, const std::function<Outcome()>& act);
/// The end of an object at the border.
template <class T>
void take_down(T* object) {
  (void)at_border(nullptr, [&]() -> Outcome {
    delete object;
    return std::nullopt;
  });
}

/// Reads a structure of the caller, which may be older or newer than this library.
template <class T>
[[nodiscard]] bool read_struct(const T* given, T& known) {
  known = {};
  if (given == nullptr) return true;
  const std::size_t size = given->struct_size;
  // A size that cuts a member is no release's.
  if (size < sizeof(std::size_t) || size % alignof(T) != 0) return false;
  std::memcpy(&known, given, std::min(size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t at = sizeof(T); at < size; ++at) {
    if (bytes[at] != 0) return false;
  }
  return true;
}
template <class T>
[[nodiscard]] bool write_struct(const T& known, T* given) {
  if (given == nullptr || given->struct_size < sizeof(std::size_t) ||
      given->struct_size % alignof(T) != 0) {
    return false;
  }
  const std::size_t size = given->struct_size;
  std::memcpy(given, &known, std::min(size, sizeof(T)));
  given->struct_size = size;
  return true;
}

/// The look that a message has.
[[nodiscard]] berth_look look_in(Message& message);
/// `ordinal`: what it is called by in place of its place among the visible.
[[nodiscard]] Outcome device_at(const berth_look& look, std::size_t at, berth_device* device,
                                std::optional<int> ordinal = std::nullopt);

}  // namespace berth::lib
