#include "base/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {

/// For both families at once, where there are two.
Result<HeldPort> hold_in(int family, std::uint16_t wanted) {
  Fd held(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!held.is_open()) return fail_system(errno, "make a socket");
  const int off = 0;
  const int on = 1;
  if (family == AF_INET6) {
    (void)::setsockopt(held.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  sockaddr_storage address{};
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  address.ss_family = static_cast<sa_family_t>(family);
  // Both kinds of address have their port in the same place.
  auto* const port = &reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  *port = htons(wanted);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  // First without SO_REUSEADDR: what anybody has bound is refused then.
  if (::bind(held.get(), any, size) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return fail(ErrorCode::busy, "TCP port {} is taken", wanted);
    }
    return fail_system(error, "bind a socket to TCP port {}", wanted);
  }
  if (::setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::getsockname(held.get(), any, &size) != 0) {
    return fail_system(errno, "keep a TCP port");
  }
  return HeldPort{.number = ntohs(*port), .socket = std::move(held)};
}

}  // namespace

Result<HeldPort> hold_port(std::optional<std::uint16_t> wanted) {
  auto held = hold_in(AF_INET6, wanted.value_or(0));
  if (held || held.error().code() == ErrorCode::busy) return held;
  return hold_in(AF_INET, wanted.value_or(0));
}

std::vector<std::uint64_t> sockets_at_port(std::string_view table, std::uint16_t port) {
  // "sl local_address rem_address st … inode": address and port in hexadecimal, with a colon.
  constexpr std::size_t inode_column = 9;
  std::vector<std::uint64_t> inodes;
  const auto is_at = [port](std::string_view address) {
    const auto number = address.substr(address.rfind(':') + 1);
    std::uint16_t value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value, 16);
    return read.ec == std::errc() && read.ptr == number.data() + number.size() && value == port;
  };
  for (const std::string_view line : split(table, '\n')) {
    const auto words = words_in(line);
    if (words.size() <= inode_column || !(is_at(words[1]) || is_at(words[2]))) continue;
    const auto inode = parse_unsigned(words[inode_column]);
    if (inode && *inode != 0) inodes.push_back(*inode);  // 0: nobody has it any more
  }
  std::ranges::sort(inodes);
  return inodes;
}

}  // namespace berth
