#include "serve/fleet_members.h"

#include <algorithm>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "serve/settings.h"

namespace berth::serve {

namespace {

constexpr std::uint16_t port_of_berth = 9700;
constexpr std::size_t most_members = 1000;
constexpr std::size_t longest_name = 64;

/// "gpu1" for http://gpu1:9700, "gpu1:9800" where another port says which of several it is.
std::string name_for(const Url& url) {
  if (url.kind == Url::Kind::unix_socket) return url.socket;
  Url bare = url;
  if (bare.port == port_of_berth) bare.port = 80;
  bare.kind = Url::Kind::http;
  return url.kind == Url::Kind::https && url.port == 443 ? url.host : host_and_port(bare);
}

Result<Url> parse_place(std::string_view text) {
  const bool is_url = text.starts_with("unix:") || text.find("://") != std::string_view::npos;
  auto url = parse_url(is_url ? std::string(text) : "http://" + std::string(text));
  if (!url) return url;
  const bool names_port = !is_url && text.find(':', text.find(']') + 1) != std::string_view::npos;
  if (!is_url && !names_port) url->port = port_of_berth;
  while (url->target.ends_with('/')) url->target.pop_back();
  if (url->target.find('?') != std::string::npos) {
    return fail(ErrorCode::invalid, "\"{}\" names no server: it has a query", printable(text));
  }
  return url;
}

Result<void> take_option(std::string_view word, FleetMember& member) {
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
  std::string* into = nullptr;
  if (key == "token_file") into = &member.token_file;
  if (key == "ca") into = &member.tls.authority;
  if (key == "certificate") into = &member.tls.certificate;
  if (key == "key") into = &member.tls.key;
  if (into == nullptr || value.empty()) {
    return fail(ErrorCode::invalid,
                "\"{}\" is none of token_file=, ca=, certificate= and key=", printable(word));
  }
  *into = value;
  return {};
}

Result<FleetMember> parse_line(std::string_view line) {
  const std::vector<std::string_view> words = words_in(line);
  auto member = parse_member(words.front());
  for (std::size_t i = 1; member && i < words.size(); ++i) {
    if (auto taken = take_option(words[i], *member); !taken) return std::unexpected(taken.error());
  }
  if (member && member->tls.certificate.empty() != member->tls.key.empty()) {
    return fail(ErrorCode::invalid, "certificate= and key= belong together");
  }
  return member;
}

}  // namespace

bool shows_token(const FleetMember& member) {
  return member.url.kind == Url::Kind::http && !member.token_file.empty() &&
         member.url.host != "localhost" && !is_loopback({.host = member.url.host, .port = 0});
}

Result<FleetMember> parse_member(std::string_view word) {
  FleetMember member;
  // "big=https://…": what stands before "=" is a name, unless a URL has begun by then.
  const std::size_t equals = word.find('=');
  const bool is_named = equals < std::min(word.find('/'), word.find(':'));
  if (is_named) member.name = std::string(word.substr(0, equals));
  auto url = parse_place(is_named ? word.substr(equals + 1) : word);
  if (!url) return std::unexpected(std::move(url).error());
  member.url = *std::move(url);
  if (!is_named) member.name = name_for(member.url);
  if (member.name.empty() || member.name.size() > longest_name ||
      printable(member.name) != member.name) {
    return fail(ErrorCode::invalid, "\"{}\" is no name for a host", printable(member.name));
  }
  return member;
}

Result<std::vector<FleetMember>> parse_member_file(std::string_view text) {
  std::vector<FleetMember> members;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::string plain(line);
    std::replace(plain.begin(), plain.end(), '\t', ' ');
    auto member = parse_line(plain);
    if (!member) {
      return std::unexpected(std::move(member).error().because("line {}", number));
    }
    members.push_back(*std::move(member));
  }
  return members;
}

Result<std::vector<FleetMember>> members_of(const JoinSettings& settings) {
  std::vector<FleetMember> members;
  for (const std::string& word : settings.hosts) {
    auto member = parse_member(trimmed(word));
    if (!member) return std::unexpected(std::move(member).error());
    members.push_back(*std::move(member));
  }
  if (!settings.file.empty()) {
    const auto text = read_file(settings.file);
    if (!text) return std::unexpected(text.error());
    auto more = parse_member_file(*text);
    if (!more) return std::unexpected(std::move(more).error().at(settings.file));
    std::move(more->begin(), more->end(), std::back_inserter(members));
  }
  std::set<std::string_view> names;
  for (const FleetMember& member : members) {
    if (names.insert(member.name).second) continue;
    return fail(ErrorCode::invalid,
                "two hosts are called {}: give one of them another name (NAME=URL)", member.name);
  }
  if (members.size() > most_members) {
    return fail(ErrorCode::invalid,
                "{} hosts are too many: {} can be joined, beyond that use Prometheus",
                members.size(), most_members);
  }
  return members;
}

}  // namespace berth::serve
