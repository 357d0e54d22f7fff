#pragma once
// The web page's files, embedded in the program: "/" and what lies under "/assets/". Where the page
// could not be built (no npm), "/" alone is there and says so.

#include <span>
#include <string>
#include <string_view>

namespace berth::serve {

struct Asset {
  std::string_view path;     // "/", "/assets/page.js"
  std::string_view type;     // "text/html; charset=utf-8"
  std::string_view gzipped;  // as most browsers take it, and as the program holds it
  std::string_view etag;     // with its quotes
};

[[nodiscard]] std::span<const Asset> page_assets();

/// Unpacked.
[[nodiscard]] std::string text_of(const Asset& asset);

/// Null: there is no such file.
[[nodiscard]] const Asset* find_asset(std::string_view path);

}  // namespace berth::serve
