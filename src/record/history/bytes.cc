#include "record/history/bytes.h"

#include <zstd.h>

namespace berth::history {

namespace {

constexpr std::size_t checksum_bytes = 4;

std::uint32_t checksum_of(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 16777619U;
  return hash;
}

}  // namespace

std::string sealed(std::string bytes) {
  const std::uint32_t hash = checksum_of(bytes);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(static_cast<std::uint8_t>(hash >> shift));
  }
  return bytes;
}

std::optional<std::string_view> unsealed(std::string_view block) {
  if (block.size() < checksum_bytes) return std::nullopt;
  const std::string_view bytes = block.substr(0, block.size() - checksum_bytes);
  std::uint32_t said = 0;
  for (std::size_t i = 0; i < checksum_bytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(block[bytes.size() + i]);
    said |= static_cast<std::uint32_t>(byte) << (8 * i);
  }
  if (said != checksum_of(bytes)) return std::nullopt;
  return bytes;
}

void Squeezer::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

Squeezer::Squeezer(int level) : context_(ZSTD_createCCtx()) {
  if (!context_) return;
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 0);
}

std::string Squeezer::squeezed(std::string_view bytes) const {
  if (!context_) return {};
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context_.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) return {};
  out.resize(size);
  return out;
}

std::optional<std::string> unsqueezed(std::string_view bytes, std::size_t most) {
  std::string out(most, '\0');
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) return std::nullopt;
  out.resize(size);
  return out;
}

}  // namespace berth::history
