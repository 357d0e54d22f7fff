#include "record/history/bytes.h"

#include <zlib.h>

#include <limits>

namespace berth::history {

namespace {

constexpr std::size_t checksum_bytes = 4;

std::uint32_t checksum_of(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 16777619U;
  return hash;
}

// Raw: each block says its own length and has its own checksum.
constexpr int raw_window_bits = -15;
constexpr int memory_level = 8;  // zlib's own default

Bytef* bytes_of(std::string_view text) {
  // zlib reads what it is given and asks for it as writable.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
}

bool fits(std::size_t size) { return size <= std::numeric_limits<uInt>::max(); }

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

void Squeezer::EndStream::operator()(z_stream_s* stream) const {
  deflateEnd(stream);
  delete stream;  // NOLINT(cppcoreguidelines-owning-memory): the unique_ptr's own
}

Squeezer::Squeezer(int level, Squeezing what) {
  auto stream = std::make_unique<z_stream_s>();
  const int made = deflateInit2(stream.get(), level, Z_DEFLATED, raw_window_bits, memory_level,
                                what == Squeezing::noise ? Z_FILTERED : Z_DEFAULT_STRATEGY);
  if (made == Z_OK) stream_.reset(stream.release());
}

std::string Squeezer::squeezed(std::string_view bytes) const {
  if (!stream_ || !fits(bytes.size()) || deflateReset(stream_.get()) != Z_OK) return {};
  std::string out(deflateBound(stream_.get(), static_cast<uLong>(bytes.size())), '\0');
  if (!fits(out.size())) return {};
  stream_->next_in = bytes_of(bytes);
  stream_->avail_in = static_cast<uInt>(bytes.size());
  stream_->next_out = bytes_of(out);
  stream_->avail_out = static_cast<uInt>(out.size());
  if (deflate(stream_.get(), Z_FINISH) != Z_STREAM_END) return {};
  out.resize(out.size() - stream_->avail_out);
  return out;
}

std::optional<std::string> unsqueezed(std::string_view bytes, std::size_t most) {
  if (!fits(bytes.size()) || !fits(most)) return std::nullopt;
  z_stream stream = {};
  if (inflateInit2(&stream, raw_window_bits) != Z_OK) return std::nullopt;
  std::string out(most, '\0');
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  out.resize(out.size() - stream.avail_out);
  inflateEnd(&stream);
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace berth::history
