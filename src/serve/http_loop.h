#pragma once
// The one loop that a server lives in: descriptors, deadlines and what other threads hand over.
// Behind it stands Asio, whose headers take half a minute to compile: only http_*.cc read them.

#include <functional>
#include <memory>

#include "base/clock.h"

namespace berth::serve {

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Until stop().
  void run();
  void stop();
  /// From any thread.
  void post(std::function<void()> act);
  void after(Duration wait, std::function<void()> act);
  /// Acts once, when the descriptor can be read or `patience` is over. If it cannot be watched (no
  /// descriptor is left), acts after a second at most. The descriptor may be closed meanwhile.
  void when_readable(int fd, Duration patience, std::function<void()> act);

  struct Parts;
  [[nodiscard]] Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::serve
