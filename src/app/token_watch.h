#pragma once
// The tokens that `berth serve` takes, as their file says now. The file may lie on a disk that
// hangs: it is read on a thread of its own, and until it has been read the tokens are those before.

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "serve/tokens.h"
#include "serve/workers.h"

namespace berth {

class TokenWatch {
 public:
  /// Reads the file at once: nothing is served before. Nothing: there is no home to keep tokens in.
  explicit TokenWatch(std::optional<std::string> file);

  /// Reads it again, once the reading before has come back.
  void look_again();
  /// As last read; none where that failed.
  [[nodiscard]] serve::TokenStore tokens() const;
  /// What is wrong with the file, once per mistake.
  [[nodiscard]] std::optional<std::string> take_mistake();

 private:
  /// What crosses between the threads.
  struct Shared {
    mutable std::mutex mutex;  // guards all below
    serve::TokenStore tokens;
    std::string mistake;  // empty: none
    bool is_reading = false;
  };
  static void read(const std::string& file, Shared& shared);

  std::optional<std::string> file_;
  std::string said_;  // the mistake that was told last
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  serve::Workers reader_{1};
};

}  // namespace berth
