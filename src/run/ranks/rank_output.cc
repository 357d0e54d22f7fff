#include "run/ranks/rank_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace berth {

namespace {
/// A line that is longer comes in parts.
constexpr std::size_t longest_line = std::size_t{64} << 10;
/// More is read once its reader has taken that.
constexpr std::size_t most_waiting = std::size_t{256} << 10;
/// So much a pipe takes whole where it takes anything.
constexpr std::size_t at_once = 4096;

bool is_writable(int fd) {
  pollfd asked{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}
}  // namespace

RankLines::RankLines(int rank) : prefix_(fmt::format("[{}] ", rank)) {}

std::string RankLines::take(std::string_view bytes) {
  std::string whole;
  for (const char one : bytes) {
    const bool ends = one == '\n' || one == '\r';
    // The newline behind a carriage return ends the same line.
    if (one == '\n' && begun_.empty() && whole.ends_with('\r')) {
      whole += one;
      continue;
    }
    begun_ += one;
    if (!ends && begun_.size() < longest_line) continue;
    whole += prefix_ + begun_;
    if (!ends) whole += '\n';
    begun_.clear();
  }
  return whole;
}

std::string RankLines::rest() {
  if (begun_.empty()) return {};
  std::string last = prefix_ + begun_ + "\n";
  begun_.clear();
  return last;
}

void RankOutput::add(int rank, Fd file) {
  sources_.push_back({.file = std::move(file), .lines = RankLines(rank)});
}

bool RankOutput::read(Source& source) {
  std::array<char, 16384> piece;  // NOLINT: filled by read()
  const ssize_t got = ::read(source.file.get(), piece.data(), piece.size());
  if (got <= 0) return false;
  waiting_ += source.lines.take({piece.data(), static_cast<std::size_t>(got)});
  return true;
}

void RankOutput::print() {
  while (has_more() && is_writable(to_)) {
    const ssize_t put = ::write(to_, waiting_.data(), std::min(waiting_.size(), at_once));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) {  // nobody reads any more; the files have it
      to_ = -1;
      waiting_.clear();
      return;
    }
    waiting_.erase(0, static_cast<std::size_t>(put));
  }
}

bool RankOutput::pass_on() {
  bool any = false;
  for (Source& source : sources_) {
    if (to_ >= 0 && waiting_.size() < most_waiting) any = read(source) || any;
  }
  print();
  return any;
}

void RankOutput::finish() {
  for (Source& source : sources_) {
    while (to_ >= 0 && read(source)) print();
    waiting_ += source.lines.rest();
  }
}

}  // namespace berth
