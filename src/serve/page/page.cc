#include "serve/page.h"

#include <array>
#include <cstddef>

#include "base/gzip.h"

// From page.S.
#define BERTH_PAGE_FILE(name)                       \
  extern "C" const char berth_page_##name[];        \
  extern "C" const char berth_page_##name##_end[];  \
  extern "C" const char berth_page_##name##_etag[]; \
  extern "C" const char berth_page_##name##_etag_end[];
BERTH_PAGE_FILE(index)
BERTH_PAGE_FILE(script)
BERTH_PAGE_FILE(style)
BERTH_PAGE_FILE(icon)
#undef BERTH_PAGE_FILE

namespace berth::serve {

namespace {

std::string_view embedded(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

struct PageFiles {
  std::array<Asset, 4> all;
  std::size_t there = 0;

  void add(std::string_view path, std::string_view type, std::string_view gzipped,
           std::string_view etag) {
    // A build without npm has a page that needs nothing else: what has no ETag is not there.
    if (!etag.empty())
      all[there++] = {.path = path, .type = type, .gzipped = gzipped, .etag = etag};
  }
};

PageFiles page_files() {
  PageFiles found;
  found.add("/", "text/html; charset=utf-8", embedded(berth_page_index, berth_page_index_end),
            embedded(berth_page_index_etag, berth_page_index_etag_end));
  found.add("/assets/page.js", "text/javascript; charset=utf-8",
            embedded(berth_page_script, berth_page_script_end),
            embedded(berth_page_script_etag, berth_page_script_etag_end));
  found.add("/assets/page.css", "text/css; charset=utf-8",
            embedded(berth_page_style, berth_page_style_end),
            embedded(berth_page_style_etag, berth_page_style_etag_end));
  found.add("/assets/icon.svg", "image/svg+xml", embedded(berth_page_icon, berth_page_icon_end),
            embedded(berth_page_icon_etag, berth_page_icon_etag_end));
  return found;
}

}  // namespace

std::span<const Asset> page_assets() {
  static const PageFiles found = page_files();
  return std::span(found.all).first(found.there);
}

std::string text_of(const Asset& asset) {
  constexpr std::size_t most_bytes = 16 << 20;
  return gunzipped(asset.gzipped, most_bytes).value_or(std::string());
}

const Asset* find_asset(std::string_view path) {
  for (const Asset& asset : page_assets()) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

}  // namespace berth::serve
