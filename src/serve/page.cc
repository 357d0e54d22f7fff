#include "serve/page.h"

#include <span>

namespace berth::serve {

namespace {
constexpr std::span<const Asset> assets;
}  // namespace

const Asset* find_asset(std::string_view path) {
  for (const Asset& asset : assets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

}  // namespace berth::serve
