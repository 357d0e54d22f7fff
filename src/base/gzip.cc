#include "base/gzip.h"

#include <zlib.h>

namespace berth {

Result<std::string> gunzipped(std::string_view packed, std::size_t most_bytes) {
  z_stream stream{};
  constexpr int window_with_gzip_header = 15 + 16;
  if (::inflateInit2(&stream, window_with_gzip_header) != Z_OK) {
    return fail(ErrorCode::io, "cannot be unpacked: no memory");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string plain;
  int state = Z_OK;
  // Grows with the content: a text that claims little and brings much stops at the limit.
  while (state == Z_OK && plain.size() <= most_bytes) {
    constexpr std::size_t step = 64 << 10;
    const std::size_t had = plain.size();
    plain.resize(had + step);
    stream.next_out = reinterpret_cast<Bytef*>(plain.data() + had);
    stream.avail_out = step;
    state = ::inflate(&stream, Z_NO_FLUSH);
    plain.resize(had + step - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (plain.size() > most_bytes) {
    return fail(ErrorCode::invalid, "larger than {} bytes", most_bytes);
  }
  if (state != Z_STREAM_END) return fail(ErrorCode::invalid, "no whole gzip");
  return plain;
}

}  // namespace berth
