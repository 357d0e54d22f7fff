#include "record/history/chunk.h"

#include <optional>
#include <utility>

#include "record/history/bytes.h"
#include "record/history/rollup.h"

namespace berth::history {

namespace {
constexpr std::uint8_t chunk_format = 2;
// Written every few seconds and gone after ten minutes: quickly rather than small.
constexpr int chunk_level = 1;
// A row of a minute on the largest server is less.
constexpr std::size_t most_bytes = 4 << 20;

std::unexpected<Error> damaged() {
  return fail(ErrorCode::invalid, "the newest samples of the history are damaged");
}

std::optional<SampleRow> read_sample(ByteReader& reader, std::int64_t before_ms) {
  SampleRow row;
  const auto step = reader.signed_varint();
  const auto count = reader.varint();
  // Each reading takes two bytes at least: what claims more is refused before anything is
  // allocated.
  if (!step || !count || *count > reader.rest().size() / 2) return std::nullopt;
  row.at_ms = static_cast<std::int64_t>(static_cast<std::uint64_t>(before_ms) +
                                        static_cast<std::uint64_t>(*step));
  row.readings.reserve(static_cast<std::size_t>(*count));
  std::uint64_t series = 0;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto further = reader.varint();
    const auto kind = reader.byte();
    if (!further || *further == 0 || !kind) return std::nullopt;
    series += *further;
    auto entry = Entry::of_kind(*kind);
    if (*kind == Entry::kind_value) {
      const auto value = reader.signed_varint();
      if (!value) return std::nullopt;
      entry = Entry(*value);
    }
    if (!entry) return std::nullopt;
    row.readings.emplace_back(static_cast<std::int64_t>(series), *entry);
  }
  return row;
}

}  // namespace

bool OpenChunk::ends_before(std::int64_t at_ms) const {
  if (times_.empty()) return false;
  return at_ms < times_.back() || times_.size() >= most_samples ||
         floor_to(at_ms, chunk_length_ms) != floor_to(times_.front(), chunk_length_ms);
}

void OpenChunk::add(const SampleRow& row) {
  const std::size_t place = times_.size();
  times_.push_back(row.at_ms);
  for (const auto& [series, entry] : row.readings) {
    const auto [at, is_new] = columns_.try_emplace(series);
    Column& column = at->second;
    if (is_new) column.first = place;
    column.entries.resize(place - column.first);  // samples without it: nobody
    column.entries.push_back(entry);
  }
}

std::string encode_samples(std::span<const SampleRow> rows) {
  std::string plain;
  std::int64_t before_ms = 0;
  for (const SampleRow& row : rows) {
    put_signed(plain, static_cast<std::int64_t>(static_cast<std::uint64_t>(row.at_ms) -
                                                static_cast<std::uint64_t>(before_ms)));
    put_varint(plain, row.readings.size());
    std::uint64_t before = 0;
    for (const auto& [series, entry] : row.readings) {
      put_varint(plain, static_cast<std::uint64_t>(series) - before);
      before = static_cast<std::uint64_t>(series);
      plain += static_cast<char>(entry.kind());
      if (const auto value = entry.value()) put_signed(plain, *value);
    }
    before_ms = row.at_ms;
  }
  std::string body(1, static_cast<char>(chunk_format));
  put_varint(body, plain.size());
  body += Squeezer(chunk_level).squeezed(plain);
  return sealed(std::move(body));
}

Result<std::vector<SampleRow>> detail::decode_samples_body(std::string_view body) {
  ByteReader reader(body);
  const auto version = reader.byte();
  const auto size = reader.varint();
  if (!version || *version != chunk_format || !size || *size > most_bytes) return damaged();
  const auto plain = unsqueezed(reader.rest(), static_cast<std::size_t>(*size));
  if (!plain) return damaged();
  ByteReader samples(*plain);
  std::vector<SampleRow> rows;
  std::int64_t before_ms = 0;
  while (!samples.at_end()) {
    auto row = read_sample(samples, before_ms);
    if (!row) return damaged();
    before_ms = row->at_ms;
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<std::vector<SampleRow>> decode_samples(std::string_view block) {
  const auto body = unsealed(block);
  if (!body) return damaged();
  return detail::decode_samples_body(*body);
}

}  // namespace berth::history
