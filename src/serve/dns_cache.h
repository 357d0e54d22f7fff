#pragma once
// Names of hosts made addresses, without ever waiting in the loop's thread. Only http_*.cc include
// this.

#include <boost/asio/ip/address.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/http_asio.h"
#include "serve/workers.h"

namespace berth::serve {

using Endpoint = asio::generic::stream_protocol::endpoint;

class DnsCache {
 public:
  using Done = std::function<void(const Result<std::vector<Endpoint>>&)>;

  DnsCache(Loop& loop, Clock& clock);
  ~DnsCache();
  DnsCache(const DnsCache&) = delete;
  DnsCache& operator=(const DnsCache&) = delete;

  /// Calls `done` at once for an address, or for a name that was ever found. An old answer is used
  /// while a newer one is looked up. not_found: nobody knows the name; busy: too many are being
  /// looked up.
  void find(const std::string& host, std::uint16_t port, Done done);

 private:
  struct Entry {
    std::vector<asio::ip::address> addresses;
    Instant found{};
    bool is_asked = false;
    std::vector<std::pair<std::uint16_t, Done>> waiting;
  };
  /// The way back from a thread that a name server holds, perhaps for longer than we live.
  struct WayBack {
    std::mutex mutex;  // guards book
    DnsCache* book = nullptr;
  };
  struct Found {
    std::vector<asio::ip::address> addresses;
    int error = 0;  // of getaddrinfo
    std::string message;
  };
  static Found look_up(const std::string& host);
  [[nodiscard]] bool begin(const std::string& host);
  void found(const std::string& host, const Found& answer);

  Loop& loop_;
  Clock& clock_;
  std::shared_ptr<WayBack> way_back_;
  std::optional<Workers> workers_;  // once a name has to be looked up
  std::map<std::string, Entry> entries_;
};

}  // namespace berth::serve
