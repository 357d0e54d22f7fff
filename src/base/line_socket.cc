#include "base/line_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace berth {

namespace {

/// Below are a process's standard streams, which may be closed.
constexpr int first_descriptor = 3;

union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

std::unexpected<Error> closed() {
  return fail(ErrorCode::io, "the other end of the socket is closed");
}

}  // namespace

Result<std::pair<Fd, Fd>> LineSocket::make_ends() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_system(errno, "make a socket");
  }
  const Fd one(ends[0]);
  const Fd other(ends[1]);
  std::pair<Fd, Fd> high(Fd(::fcntl(one.get(), F_DUPFD_CLOEXEC, first_descriptor)),
                         Fd(::fcntl(other.get(), F_DUPFD_CLOEXEC, first_descriptor)));
  if (!high.first.is_open() || !high.second.is_open()) return fail_system(errno, "make a socket");
  return high;
}

void LineSocket::shut_down() { ::shutdown(socket_.get(), SHUT_RDWR); }

void LineSocket::finish_sending() { ::shutdown(socket_.get(), SHUT_WR); }

Result<pid_t> LineSocket::peer() const {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_system(errno, "learn who is at the other end of a socket");
  }
  return peer.pid;
}

Result<void> LineSocket::send(std::string_view line, int descriptor) {
  const std::string all = std::string(line) + "\n";
  std::string_view rest = all;
  while (!rest.empty()) {
    iovec bytes{.iov_base = const_cast<char*>(rest.data()), .iov_len = rest.size()};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    Control control{};
    if (descriptor >= 0) {  // with the line's first byte
      message.msg_control = control.bytes.data();
      message.msg_controllen = control.bytes.size();
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return closed();
    descriptor = -1;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

std::optional<LineSocket::Line> LineSocket::take_line() {
  const std::size_t end = buffer_.find('\n', seen_);
  if (end == std::string::npos) {
    seen_ = buffer_.size();
    return std::nullopt;
  }
  Line line{.text = buffer_.substr(0, end)};
  if (descriptor_at_ <= end) line.descriptor = std::move(descriptor_);
  descriptor_at_ -= std::min(descriptor_at_, end + 1);
  buffer_.erase(0, end + 1);
  seen_ = 0;
  return line;
}

/// False: nothing has come.
Result<bool> LineSocket::fill(std::size_t longest) {
  constexpr std::size_t block = 64 << 10;
  const std::size_t before = buffer_.size();
  if (before > longest) return closed();
  Control control{};
  msghdr message{};
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  int why = 0;
  // What is not written is not cleared before either: most lines are far shorter.
  buffer_.resize_and_overwrite(before + block, [&](char* bytes, std::size_t) {
    iovec room{.iov_base = bytes + before, .iov_len = block};
    message.msg_iov = &room;
    got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    why = errno;
    return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  });
  if (got < 0 && (why == EAGAIN || why == EWOULDBLOCK)) return false;
  if (got < 0 && why == EINTR) return true;
  if (got <= 0) return closed();
  // The kernel ends what it gives at the bytes that a descriptor came with: it is the last line's.
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
    descriptor_ = Fd(descriptor);
    descriptor_at_ = buffer_.size() - 1;
  }
  return true;
}

Result<std::optional<LineSocket::Line>> LineSocket::receive(std::size_t longest) {
  while (true) {
    if (auto line = take_line()) return line;
    const auto filled = fill(longest);
    if (!filled) return std::unexpected(filled.error());
    if (!*filled) return std::optional<Line>();
  }
}

}  // namespace berth
