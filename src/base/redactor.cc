#include "base/redactor.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

/// What ends a word of a command, a variable or JSON.
bool is_break(char c) {
  return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == ',' || c == ';' || c == '[' ||
         c == ']' || c == '{' || c == '}' || c == '(' || c == ')' || c == '<' || c == '>' ||
         c == '`' || c == '\\';
}

/// Hosts whose paths say nothing of anybody.
bool is_public_host(std::string_view host) {
  static constexpr auto hosts = std::to_array<std::string_view>(
      {"docs.nvidia.com", "developer.nvidia.com", "nvidia.com", "www.nvidia.com", "pytorch.org",
       "download.pytorch.org", "docs.kernel.org", "www.debian.org", "bugs.debian.org",
       "www.ubuntu.com", "help.ubuntu.com"});
  return std::ranges::find(hosts, host) != hosts.end();
}

/// A URL of a line and what stands there instead.
struct CleanUrl {
  TextSpan span;
  std::string text;
};

/// "https://user:pass@host/path?query" as "https://***@host/***".
CleanUrl cleaned_url(std::string_view line, std::size_t scheme) {
  std::size_t start = scheme;
  while (start > 0 && std::isalnum(static_cast<unsigned char>(line[start - 1])) != 0) --start;
  const auto credentials = url_credentials(line, scheme);
  std::size_t host_begin = scheme + 3;
  if (credentials) host_begin = credentials->end + 1;
  std::size_t host_end = host_begin;
  while (host_end < line.size() && !is_break(line[host_end]) &&
         std::string_view("/?#").find(line[host_end]) == std::string_view::npos) {
    ++host_end;
  }
  const std::string_view host = line.substr(host_begin, host_end - host_begin);
  std::string clean(line.substr(start, scheme + 3 - start));
  if (credentials) clean += std::string(secret_mask) + "@";
  clean += host;
  // Ends with the quotes that it stands in; what they escape stays readable.
  std::size_t end = std::min(line.find_first_of(" \t\"'`", host_end), line.size());
  while (end > host_end && line[end - 1] == '\\') --end;
  const std::string_view rest = line.substr(host_end, end - host_end);
  if (rest.size() <= 1 || is_break(rest.front())) return {{start, host_end}, clean};
  const bool keeps_path = (is_public_host(host) && !credentials && rest.find('?') == rest.npos) ||
                          line.substr(start).starts_with("file://");
  if (keeps_path) return {{start, host_end}, clean};
  return {{start, end}, clean + "/" + std::string(secret_mask)};
}

/// A line as pieces: words, and what stands between them.
struct Piece {
  std::string_view text;
  bool is_word = false;
};

std::vector<Piece> pieces_of(std::string_view line) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= line.size(); ++i) {
    if (i < line.size() && is_break(line[i]) == is_break(line[begin])) continue;
    pieces.push_back({line.substr(begin, i - begin), !is_break(line[begin])});
    begin = i;
  }
  return pieces;
}

bool is_number(std::string_view name) { return std::ranges::all_of(name, is_digit); }

/// One letter is no name to look for, root is nobody's, and a number stands for itself.
bool is_replaced(std::string_view name) {
  return name.size() >= 2 && name != "root" && !is_number(name);
}

}  // namespace

Redactor::Redactor(const Names& names) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& from, const std::string& to) {
    if (is_replaced(from) && seen.insert(from).second) {
      replacements_[from.front()].emplace_back(from, to);
    }
  };
  if (names.home.size() > 1) add(names.home, "~");
  add(names.user, "me");
  // Nobody gets a name that somebody has.
  std::set<std::string> taken(names.users.begin(), names.users.end());
  taken.insert(names.user);
  taken.insert(names.hosts.begin(), names.hosts.end());
  std::size_t number = 0;
  for (const std::string& user : names.users) {
    if (!is_replaced(user) || seen.contains(user)) continue;
    std::string invented;
    do {
      invented = "user" + std::to_string(++number);
    } while (taken.contains(invented));
    add(user, invented);
  }
  for (const std::string& host : names.hosts) {
    add(host, "host");
    const std::size_t dot = host.find('.');
    if (dot != std::string::npos) add(host.substr(0, dot), "host");
  }
  for (auto& [first, rows] : replacements_) {
    std::ranges::stable_sort(rows, std::greater<>(),
                             [](const auto& row) { return row.first.size(); });
  }
}

std::string Redactor::cleaned(std::string_view text) {
  in_private_key_ = false;
  below_ = {};
  return joined(split(text, '\n'), "\n", [&](std::string_view line) { return cleaned_line(line); });
}

std::string Redactor::cleaned_line(std::string_view line) {
  if (line.find("-----BEGIN ") != line.npos && line.find("PRIVATE KEY") != line.npos) {
    in_private_key_ = line.find("-----END ") == line.npos;
    ++secrets_;
    return std::string(secret_mask);
  }
  if (in_private_key_) {
    in_private_key_ = line.find("-----END ") == line.npos;
    return std::string(secret_mask);
  }
  std::string plain = without_colours(line);
  if (const auto below = below_.found_in(plain)) {
    ++secrets_;
    plain.replace(below->begin, below->end - below->begin, secret_mask);
  }
  return without_names(without_secrets(plain));
}

std::string Redactor::without_secrets(std::string_view line) {
  struct Rewrite {
    TextSpan span;
    std::string text;
    bool changes = false;
  };
  std::vector<Rewrite> rewrites;
  for (std::size_t at = line.find("://"); at != line.npos; at = line.find("://", at + 1)) {
    CleanUrl url = cleaned_url(line, at);
    const bool changes = line.substr(url.span.begin, url.span.end - url.span.begin) != url.text;
    at = std::max(at, url.span.end - 1);
    rewrites.push_back({url.span, std::move(url.text), changes});
  }
  for (const TextSpan span : named_secrets(line)) {
    rewrites.push_back({span, std::string(secret_mask), true});
  }
  std::ranges::stable_sort(rewrites, std::less<>(), [](const Rewrite& p) { return p.span.begin; });
  std::string clean;
  std::size_t at = 0;
  for (const Rewrite& rewrite : rewrites) {
    if (rewrite.span.begin >= at) {
      clean += without_tokens(line.substr(at, rewrite.span.begin - at));
      clean += rewrite.text;
      secrets_ += rewrite.changes ? 1 : 0;
    }
    // Where two overlap, the first stands for both.
    at = std::max(at, rewrite.span.end);
  }
  return clean + without_tokens(line.substr(at));
}

std::string Redactor::without_tokens(std::string_view text) {
  const std::vector<TextSpan> tokens = known_tokens(text);
  secrets_ += tokens.size();
  const std::string masked = masked_spans(text, tokens);
  std::string clean;
  for (const Piece& piece : pieces_of(masked)) {
    if (piece.is_word) {
      clean += cleaned_word(piece.text);
    } else {
      clean += piece.text;
    }
  }
  return clean;
}

std::string Redactor::cleaned_word(std::string_view word) {
  std::string clean;
  while (!word.empty()) {
    // NAME=value, NAME:value: the value on its own; "=" at the end is of base64.
    const std::size_t sign = word.substr(0, word.find_last_not_of('=') + 1).find_first_of("=:@|&");
    const std::size_t end = sign == word.npos ? word.size() : sign + 1;
    const std::string_view part = word.substr(0, std::min(sign, word.size()));
    const bool random = is_random_key(part);
    clean += random ? secret_mask : part;
    clean += word.substr(part.size(), end - part.size());
    secrets_ += random ? 1 : 0;
    word.remove_prefix(end);
  }
  return clean;
}

const Redactor::Replacement* Redactor::replacement_at(std::string_view line, std::size_t at) const {
  const auto rows = replacements_.find(line[at]);
  if (rows == replacements_.end()) return nullptr;
  for (const Replacement& row : rows->second) {
    if (!line.substr(at).starts_with(row.first)) continue;
    const std::size_t end = at + row.first.size();
    const bool is_path = row.first.front() == '/';
    const bool whole = (is_path || at == 0 || !is_word(line[at - 1])) &&
                       (end == line.size() || !is_word(line[end]));
    // A key of JSON is the program's own word, not somebody's name.
    if (whole && !line.substr(end).starts_with("\":")) return &row;
  }
  return nullptr;
}

/// One pass: what was put in is not looked at again.
std::string Redactor::without_names(std::string_view line) {
  std::string clean;
  clean.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const Replacement* const found = replacement_at(line, at);
    if (found == nullptr) {
      clean += line[at++];
      continue;
    }
    clean += found->second;
    at += found->first.size();
    ++replaced_names_;
  }
  return clean;
}

}  // namespace berth
