#include "serve/http_loop.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/fd.h"
#include "serve/http_asio.h"

namespace berth::serve {

namespace {

constexpr std::chrono::seconds deaf_patience{1};

}  // namespace

Loop::Loop() : parts_(std::make_unique<Parts>()) {}
Loop::~Loop() = default;

void Loop::run() {
  const auto work = asio::make_work_guard(parts_->context);
  parts_->context.run();
}

void Loop::stop() { parts_->context.stop(); }

void Loop::post(std::function<void()> act) { asio::post(parts_->context, std::move(act)); }

void Loop::after(Duration wait, std::function<void()> act) {
  auto timer = std::make_shared<asio::steady_timer>(parts_->context, wait);
  timer->async_wait([timer, act = std::move(act)](const ErrorOfAsio& error) {
    if (!error) act();
  });
}

void Loop::when_readable(int fd, Duration patience, std::function<void()> act) {
  struct Wait {
    explicit Wait(asio::io_context& context) : descriptor(context), timer(context) {}
    asio::posix::stream_descriptor descriptor;
    asio::steady_timer timer;
    std::function<void()> act;
    void end() {
      if (!act) return;
      ErrorOfAsio ignored;
      timer.cancel();
      descriptor.cancel(ignored);
      std::exchange(act, nullptr)();
    }
  };
  auto wait = std::make_shared<Wait>(parts_->context);
  wait->act = std::move(act);
  // A number of our own: the caller's may be closed, and given to another file, while we wait.
  Fd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  ErrorOfAsio error;
  if (own.is_open()) wait->descriptor.assign(own.get(), error);
  const bool hears = own.is_open() && !error;
  if (hears) static_cast<void>(own.release());  // the descriptor closes it
  // Without a descriptor (none is left) the waiting request looks itself, and soon.
  wait->timer.expires_after(hears ? patience : std::min<Duration>(patience, deaf_patience));
  wait->timer.async_wait([wait](const ErrorOfAsio&) { wait->end(); });
  if (!hears) return;
  wait->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                              [wait](const ErrorOfAsio&) { wait->end(); });
}

}  // namespace berth::serve
