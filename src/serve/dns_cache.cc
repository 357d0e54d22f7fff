#include "serve/dns_cache.h"

#include <netdb.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace berth::serve {

namespace {

/// Each may be held by a name server that does not answer, for as long as resolv.conf lets it.
constexpr int lookup_threads = 8;
constexpr std::chrono::seconds fresh_for{60};
constexpr std::size_t most_names = 4096;
/// More than that are not tried.
constexpr std::size_t most_addresses = 4;

std::vector<Endpoint> endpoints(const std::vector<asio::ip::address>& addresses,
                                std::uint16_t port) {
  std::vector<Endpoint> all;
  for (const asio::ip::address& address : addresses) {
    all.emplace_back(asio::ip::tcp::endpoint(address, port));
  }
  return all;
}

}  // namespace

DnsCache::DnsCache(Loop& loop, Clock& clock)
    : loop_(loop), clock_(clock), way_back_(std::make_shared<WayBack>()) {
  way_back_->book = this;
}

DnsCache::~DnsCache() {
  const std::lock_guard lock(way_back_->mutex);
  way_back_->book = nullptr;
}

void DnsCache::find(const std::string& host, std::uint16_t port, Done done) {
  ErrorOfAsio no_address;
  const auto literal = asio::ip::make_address(host, no_address);
  if (!no_address) return done(endpoints({literal}, port));
  if (entries_.size() >= most_names) entries_.clear();
  Entry& entry = entries_[host];
  const bool is_old = clock_.now() - entry.found > fresh_for;
  if ((entry.addresses.empty() || is_old) && !entry.is_asked) entry.is_asked = begin(host);
  if (!entry.addresses.empty()) return done(endpoints(entry.addresses, port));
  if (entry.is_asked) {
    entry.waiting.emplace_back(port, std::move(done));
    return;
  }
  done(fail(ErrorCode::busy, "cannot look up {}: too many names are being looked up", host));
}

bool DnsCache::begin(const std::string& host) {
  if (!workers_) workers_.emplace(lookup_threads);
  return workers_->give([host, way_back = way_back_] {
    const auto answer = std::make_shared<const Found>(look_up(host));
    const std::lock_guard lock(way_back->mutex);
    if (way_back->book == nullptr) return;
    way_back->book->loop_.post([host, answer, way_back] {
      // Written in this thread alone: no lock is needed to read it here.
      if (way_back->book != nullptr) way_back->book->found(host, *answer);
    });
  });
}

DnsCache::Found DnsCache::look_up(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* first = nullptr;
  Found answer;
  answer.error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first);
  if (answer.error != 0) {
    answer.message = ::gai_strerror(answer.error);
    return answer;
  }
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (answer.addresses.size() >= most_addresses) break;
    asio::ip::tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    answer.addresses.push_back(endpoint.address());
  }
  ::freeaddrinfo(first);
  return answer;
}

void DnsCache::found(const std::string& host, const Found& answer) {
  const auto kept = entries_.find(host);
  if (kept == entries_.end()) return;
  Entry& entry = kept->second;
  entry.is_asked = false;
  entry.found = clock_.now();
  // "Try again" says nothing against the old addresses; "no such name" does.
  if (answer.error == 0 || answer.error == EAI_NONAME) entry.addresses = answer.addresses;
  const auto waiting = std::exchange(entry.waiting, {});
  const std::vector<asio::ip::address> addresses = entry.addresses;
  const std::string why = answer.message.empty() ? "it has no address" : answer.message;
  for (const auto& [port, done] : waiting) {
    if (!addresses.empty()) {
      done(endpoints(addresses, port));
    } else {
      done(fail(ErrorCode::not_found, "cannot look up {}: {}", host, why));
    }
  }
}

}  // namespace berth::serve
