#pragma once
// The web page's files, embedded in the program: "/" and what lies under "/assets/".

#include <string_view>

namespace berth::serve {

struct Asset {
  std::string_view path;  // "/", "/assets/app.js"
  std::string_view type;  // "text/html; charset=utf-8"
  std::string_view body;
  std::string_view etag;  // with its quotes
};

/// Null: there is no such file.
[[nodiscard]] const Asset* find_asset(std::string_view path);

}  // namespace berth::serve
