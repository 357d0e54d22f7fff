#include "lib/question.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

namespace berth::lib {

namespace {

constexpr Duration patience_at_start = std::chrono::seconds(10);
/// A look takes 5 s at most where a card hangs, and 30 s where a driver starts its cards.
constexpr Duration patience_with_answers = std::chrono::seconds(60);
/// A waiting caller is asked twice a second whether it still waits.
constexpr Duration patience_with_leaving = std::chrono::seconds(1);

Result<void> watch(int ready, int descriptor) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (::epoll_ctl(ready, EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return fail_system(errno, "listen to the helper");
}

}  // namespace

Question::Question(HelperPlace place, Json question, Answered answered, Fd ready, Fd timer)
    : place_(std::move(place)),
      question_(std::move(question)),
      answered_(answered),
      ready_(std::move(ready)),
      timer_(std::move(timer)) {}

Result<Question> Question::ask(std::optional<HelperClient> idle, HelperPlace place,
                               const Json& question, Answered answered) {
  Fd ready = above_streams(Fd(::epoll_create1(EPOLL_CLOEXEC)));
  Fd timer = above_streams(Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
  if (!ready.is_open() || !timer.is_open()) return fail_system(errno, "listen to the helper");
  if (auto watched = watch(ready.get(), timer.get()); !watched) {
    return std::unexpected(std::move(watched).error());
  }
  Question asked(std::move(place), question, answered, std::move(ready), std::move(timer));
  auto begun = asked.begin(std::move(idle));
  if (!begun && begun.error().code() == ErrorCode::io && !asked.was_asked_again_) {
    asked.was_asked_again_ = true;  // it had ended, as nobody asked it for a minute
    begun = asked.begin(std::nullopt);
  }
  if (!begun) return std::unexpected(std::move(begun).error());
  return asked;
}

Result<void> Question::begin(std::optional<HelperClient> helper) {
  if (!helper) {
    auto started = HelperClient::start(place_);
    if (!started) return std::unexpected(std::move(started).error());
    helper.emplace(*std::move(started));
  }
  if (auto asked = helper->ask(question_); !asked) return asked;
  if (auto watched = watch(ready_.get(), helper->descriptor()); !watched) return watched;
  helper_.emplace(*std::move(helper));
  set_timer();
  return {};
}

/// A child that was forked since has a copy of the socket: closing it does not end the watching.
void Question::end() {
  (void)::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, helper_->descriptor(), nullptr);
  helper_.reset();
}

void Question::set_timer() {
  if (is_left_) return set_timer(patience_with_leaving);
  if (!helper_->has_greeted()) return set_timer(patience_at_start);
  set_timer(answered_ == Answered::soon ? patience_with_answers : Duration(0));
}

void Question::set_timer(Duration patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  itimerspec at{};  // all 0: never
  at.it_value = {.tv_sec = seconds.count(), .tv_nsec = (patience - seconds).count()};
  (void)::timerfd_settime(timer_.get(), 0, &at, nullptr);
}

Error Question::nothing_heard() const {
  if (helper_->has_greeted()) {
    return Error(
        ErrorCode::timeout,
        "the helper process of {} does not answer; try again, and `berth doctor` where it stays so",
        place_.program);
  }
  return Error(ErrorCode::timeout,
               "starting the helper: {} has said nothing for {} s. It is no berth, or something "
               "holds it up: try `{} --version`, or name another in BERTH_HELPER",
               place_.program, patience_at_start / std::chrono::seconds(1), place_.program);
}

Result<std::optional<Message>> Question::receive() {
  while (true) {
    const bool had_greeted = helper_->has_greeted();
    auto message = helper_->receive();
    if (message && helper_->has_greeted() != had_greeted) set_timer();
    if (message && *message && !is_left_) return message;
    if (message && *message) continue;
    if (message) {
      std::uint64_t times = 0;
      if (::read(timer_.get(), &times, sizeof times) != sizeof times) return message;
      message = std::unexpected(nothing_heard());
    }
    end();
    const bool is_over = answered_ == Answered::in_the_queue || is_left_ ||
                         message.error().code() != ErrorCode::io ||
                         std::exchange(was_asked_again_, true);
    if (is_over) return message;
    if (auto begun = begin(std::nullopt); !begun) return std::unexpected(std::move(begun).error());
  }
}

void Question::wait() const {
  SystemClock clock;
  (void)clock.wait_readable(ready_.get(), clock.now() + patience_with_answers);
}

void Question::leave() {
  is_left_ = true;
  helper_->finish_asking();
  set_timer();
}

HelperClient Question::take_helper() && {
  (void)::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, helper_->descriptor(), nullptr);
  return *std::move(helper_);
}

}  // namespace berth::lib
