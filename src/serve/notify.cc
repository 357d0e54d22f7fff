#include "serve/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/fd.h"

namespace berth::serve {

Result<void> notify(const std::optional<std::string>& socket, std::string_view state) {
  if (!socket || socket->empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket->size() >= sizeof address.sun_path) {
    return fail(ErrorCode::invalid, "NOTIFY_SOCKET is longer than 107 bytes");
  }
  std::copy(socket->begin(), socket->end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return fail_system(errno, "open a socket to systemd");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  const ssize_t sent = ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&address), size);
  if (sent < 0) return fail_system(errno, "tell systemd at {}", *socket);
  return {};
}

}  // namespace berth::serve
