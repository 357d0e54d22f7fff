// many_servers COUNT: as many berth servers in one process, each at a port of its own on loopback.
// Ten of them share what they show. Reads one snapshot (`berth status --json`) from stdin, and
// changes it every second. Prints the ports, one a line, and serves until stdin ends for good.

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "serve/http_server.h"
#include "snapshot/json.h"

namespace {

using namespace berth;
using namespace berth::serve;

constexpr std::size_t servers_of_one_kind = 10;

/// Servers that show the same machine.
class Kind {
 public:
  Kind(Loop& loop, Clock& clock, Snapshot first, std::uint64_t number)
      : loop_(loop), clock_(clock), snapshot_(std::move(first)), number_(number) {}

  Result<std::vector<Address>> open(std::size_t ports) {
    move_on();
    const std::vector<Address> wanted(ports, {.host = "127.0.0.1", .port = 0});
    auto server =
        HttpServer::open(loop_, handler_, clock_, {.socket = {}, .listen = wanted, .tls = {}});
    if (!server) return std::unexpected(server.error());
    server_ = *std::move(server);
    return server_->addresses();
  }

 private:
  /// Every number that lives is another one each second.
  void move_on() {
    ++sequence_;
    snapshot_.taken = clock_.wall_now();
    std::uint64_t salt = number_ * 31 + sequence_;
    for (Device& device : snapshot_.devices) {
      salt = salt * 6364136223846793005U + 1442695040888963407U;
      if (device.utilization_gpu.get())
        device.utilization_gpu = Percent(static_cast<double>((salt >> 33U) % 101));
      if (device.memory_used.get()) device.memory_used = Bytes((salt >> 20U) % (70ULL << 30U));
    }
    RequestContext context;
    context.snapshot = std::make_shared<const Snapshot>(snapshot_);
    context.sequence = sequence_;
    context.now = snapshot_.taken;
    handler_.publish(std::move(context));
    loop_.after(std::chrono::seconds(1), [this] { move_on(); });
  }

  Loop& loop_;
  Clock& clock_;
  Snapshot snapshot_;
  std::uint64_t number_;
  std::uint64_t sequence_ = 0;
  RequestHandler handler_{[](const std::string&) {}};
  std::unique_ptr<HttpServer> server_;
};

int fail_with(const std::string& why) {
  std::cerr << "many_servers: " << why << "\n";
  return 1;
}

}  // namespace

int main(int count, char** words) {
  const auto wanted = count > 1 ? parse_unsigned(words[1]) : std::nullopt;
  if (!wanted) return fail_with("how many?");
  std::string line;
  std::getline(std::cin, line);
  const auto snapshot = snapshot_from_json(line);
  if (!snapshot) return fail_with(snapshot.error().message());
  SystemClock clock;
  Loop loop;
  std::vector<std::unique_ptr<Kind>> kinds;
  for (std::uint64_t left = *wanted; left > 0;) {
    const std::size_t ports = std::min<std::size_t>(left, servers_of_one_kind);
    left -= ports;
    kinds.push_back(std::make_unique<Kind>(loop, clock, *snapshot, kinds.size() + 1));
    const auto addresses = kinds.back()->open(ports);
    if (!addresses) return fail_with(addresses.error().message());
    for (const Address& address : *addresses) std::cout << address.port << "\n";
  }
  std::cout.flush();
  // Whoever started it closes the pipe.
  loop.when_readable(STDIN_FILENO, std::chrono::hours(24), [&] { loop.stop(); });
  loop.run();
  return 0;
}
