#include "serve/message.h"

#include <algorithm>

#include "base/json_archive.h"
#include "base/text.h"

namespace berth::serve {

namespace {

std::optional<std::string_view> first_of(const Pairs& pairs, std::string_view name) {
  const auto found =
      std::find_if(pairs.begin(), pairs.end(), [&](const auto& one) { return one.first == name; });
  if (found == pairs.end()) return std::nullopt;
  return found->second;
}

enum class Plus { stays, is_space };

/// Nothing: "%" without two digits behind it, or a control character.
std::optional<std::string> decoded(std::string_view text, Plus plus) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      c = static_cast<char>(*high << 4U | *low);
      i += 2;
    } else if (c == '+' && plus == Plus::is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    plain += c;
  }
  return plain;
}

bool climbs(std::string_view path) {
  const auto parts = split(path, '/');
  return std::any_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part == ".." || part == "."; });
}

std::optional<Pairs> parse_query(std::string_view text) {
  Pairs pairs;
  if (text.empty()) return pairs;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = decoded(part.substr(0, equals), Plus::is_space);
    auto value =
        decoded(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1),
                Plus::is_space);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace

std::optional<std::string_view> header_of(const HttpRequest& request, std::string_view name) {
  return first_of(request.headers, name);
}

std::optional<std::string_view> parameter_of(const HttpRequest& request, std::string_view name) {
  return first_of(request.query, name);
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t slash = std::min(text.find('/'), text.size());
    target.host = std::string(text.substr(0, slash));
    text.remove_prefix(slash);
    if (text.empty()) text = "/";
    break;
  }
  const std::size_t question = text.find('?');
  auto path = decoded(text.substr(0, question), Plus::stays);
  if (!path || !path->starts_with('/') || climbs(*path)) return std::nullopt;
  auto query = parse_query(question == std::string_view::npos ? std::string_view()
                                                              : text.substr(question + 1));
  if (!query) return std::nullopt;
  target.path = std::move(*path);
  target.query = std::move(*query);
  return target;
}

Method method_from_name(std::string_view name) {
  if (name == "GET") return Method::get;
  if (name == "HEAD") return Method::head;
  if (name == "POST") return Method::post;
  if (name == "OPTIONS") return Method::options;
  return Method::other;
}

HttpResponse json_response(std::string body, int status) {
  HttpResponse response;
  response.status = status;
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

HttpResponse error_response(int status, std::string_view code, std::string_view message,
                            std::string_view remedy) {
  std::string body = write_json(JsonLayout::compact, [&](Archive& archive) {
    archive.derived_object("error", true, [&] {
      archive.derived("code", code);
      archive.derived("message", message);
      archive.derived("remedy", remedy);
    });
  });
  return json_response(std::move(body) + "\n", status);
}

}  // namespace berth::serve
