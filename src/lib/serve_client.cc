#include "lib/serve_client.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "snapshot/device_kind_rows.h"

namespace berth::lib {

namespace {

constexpr Duration patience = std::chrono::milliseconds(200);
constexpr std::size_t longest_answer = 64 << 20;
constexpr int deepest_answer = 8;  // of the short ones

/// Where `berth serve` has its socket, the user's own before everybody's.
std::vector<std::string> places(const std::string& sim) {
  const char* named = ::secure_getenv("BERTH_SERVE_SOCKET");
  if (named != nullptr && *named != '\0') return {named};
  const std::string name = sim.empty() ? "serve.sock" : "serve-simulated.sock";
  std::vector<std::string> all;
  const auto folder = [](const char* variable) {
    const char* value = ::secure_getenv(variable);
    return std::string(value != nullptr && *value == '/' ? value : "");
  };
  if (::geteuid() != 0) {
    if (const std::string runtime = folder("XDG_RUNTIME_DIR"); !runtime.empty()) {
      all.push_back(runtime + "/berth/" + name);
    } else if (const std::string state = folder("XDG_STATE_HOME"); !state.empty()) {
      all.push_back(state + "/berth/" + name);
    } else if (const std::string home = folder("HOME"); !home.empty()) {
      all.push_back(home + "/.local/state/berth/" + name);
    }
  }
  all.push_back("/run/berth-serve/" + name);
  return all;
}

bool is_believed(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

/// What stands behind a header's name, whatever its case; empty: there is none.
std::string header_in(std::string_view head, std::string_view name) {
  for (const std::string_view line : split(head, '\n')) {
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        ::strncasecmp(line.data(), name.data(), name.size()) != 0) {
      continue;
    }
    return std::string(trimmed(line.substr(name.size() + 1)));
  }
  return {};
}

/// As a query wants it: all but letters and digits by their bytes.
std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    is_plain ? void(all += c) : void(all += fmt::format("%{:02X}", static_cast<unsigned char>(c)));
  }
  return all;
}

}  // namespace

Fd connect_to_serve(const std::string& sim) {
  for (const std::string& path : places(sim)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Most often there is none: a socket would be made for nothing.
    if (path.size() >= sizeof(address.sun_path) || ::access(path.c_str(), F_OK) != 0) continue;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) return {};
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
        0) {
      continue;
    }
    if (is_believed(socket.get())) return socket;
  }
  return {};
}

bool ServeClient::connect() {
  newest_.reset();  // another server has other names for its looks
  socket_ = connect_to_serve(sim_);
  owner_ = ::getpid();
  return socket_.is_open();
}

std::optional<ServeClient::Answer> ServeClient::ask(const std::string& target,
                                                    const std::string& tag) {
  std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n";
  if (!tag.empty()) request += "If-None-Match: " + tag + "\r\n";
  request += "\r\n";
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return std::nullopt;
  }
  SystemClock clock;
  const Instant deadline = clock.now() + patience;
  Answer answer;
  std::optional<std::size_t> all;
  std::size_t body = 0;
  std::string& text = answer.body;
  while (!all || text.size() < *all) {
    const std::size_t before = text.size();
    constexpr std::size_t block = 64 << 10;
    ssize_t got = 0;
    int why = 0;
    text.resize_and_overwrite(before + block, [&](char* bytes, std::size_t) {
      got = ::recv(socket_.get(), bytes + before, block, 0);
      why = errno;
      return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    });
    if (got < 0 && (why == EAGAIN || why == EINTR)) {
      if (clock.now() >= deadline) return std::nullopt;
      (void)clock.wait_readable(socket_.get(), deadline);
      continue;
    }
    if (got <= 0) return std::nullopt;
    const std::size_t end = all ? std::string::npos : text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    body = end + 4;
    const std::string_view head = std::string_view(text).substr(0, end);
    answer.is_unchanged = !tag.empty() && head.starts_with("HTTP/1.1 304");
    if (answer.is_unchanged && text.size() == body) return answer;
    answer.is_given = head.starts_with("HTTP/1.1 200");
    const auto length = parse_unsigned(header_in(head, "content-length"));
    if (!length || *length > longest_answer) return std::nullopt;
    answer.tag = header_in(head, "etag");
    all = body + *length;
  }
  if (text.size() != *all) return std::nullopt;
  text.erase(0, body);
  return answer;
}

bool ServeClient::fetch() {
  auto answer = ask("/gpu-status", newest_ ? tag_ : "");
  if (answer && answer->is_unchanged) return true;
  if (!answer || !answer->is_given) return false;
  tag_ = std::move(answer->tag);
  newest_ = ParsedLook::read(std::move(answer->body));
  visible_for_.clear();
  return newest_ != nullptr;
}

const std::optional<Json>& ServeClient::visible() {
  std::string asked = "/api/v1/visible-devices";
  char separator = '?';
  for (const std::string_view name : told_variables) {
    const char* value = std::getenv(name.data());
    if (value == nullptr) continue;  // another thing than empty
    asked += separator + std::string(name) + '=' + escaped(value);
    separator = '&';
  }
  if (asked == visible_for_) return visible_;
  visible_for_ = asked;
  visible_.reset();
  const auto answer = ask(asked);
  if (!answer) socket_.close();  // what it says yet is no answer to the next question
  if (answer && answer->is_given) {
    const Json told = parse_json(answer->body, deepest_answer).value_or(Json());
    const auto numbers = told.is_object() ? told.find("numbers") : told.end();
    if (told.is_object() && numbers != told.end()) visible_.emplace(*numbers);
  }
  return visible_;
}

std::shared_ptr<const ParsedLook> ServeClient::look(std::uint32_t max_age_ms) {
  const bool is_kept = socket_.is_open() && owner_ == ::getpid();
  // The server may have ended the connection meanwhile.
  if (!(is_kept && fetch()) && !(connect() && fetch())) {
    socket_.close();
    return nullptr;
  }
  const Json& snapshot = newest_->known();
  const Json simulated = snapshot.value("simulated", Json());
  const bool is_this_machine = sim_.empty() ? simulated.is_null() : simulated == sim_;
  const Json taken = snapshot.value("taken_unix_ms", Json());
  if (!is_this_machine || !taken.is_number_integer()) return nullptr;
  const std::int64_t age = SystemClock().wall_now().unix_ms - taken.get<std::int64_t>();
  return age < 0 || age > static_cast<std::int64_t>(max_age_ms) ? nullptr : newest_;
}

}  // namespace berth::lib
