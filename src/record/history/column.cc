#include "record/history/column.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "record/history/bytes.h"

namespace berth::history {

namespace {

// Body: format, count, runs of kinds. Where there are numbers: the shape, the residuals' common
// divisor, the origin (and for lines the first step), then the residuals.
constexpr std::uint8_t column_format = 2;
// Higher levels gain nothing on a few kilobytes and cost ten times as much.
constexpr int squeeze_level = 9;

// What a shape byte says. One is written: `last` in `planes`. The others stand in older files.
enum class Predictor : std::uint8_t { least, last, line };
enum class Layout : std::uint8_t { varints, planes, packed };
constexpr std::uint8_t squeezed_varints = 16;  // a flag
constexpr std::uint8_t written_shape =
    std::to_underlying(Predictor::last) | std::to_underlying(Layout::planes) << 2U;

/// All differences wrap: of two 64-bit numbers any distance is one too.
std::int64_t wrapped_minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t wrapped_plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::uint64_t magnitude(std::int64_t number) {
  return number < 0 ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number);
}

/// How far each number is from the one before, in multiples of what divides all of it.
struct Residuals {
  std::uint64_t unit = 0;  // 0: all of them are 0
  std::vector<std::uint64_t> coded;
};

Residuals residuals_of(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> changes;
  std::int64_t before = numbers.front();
  for (const std::int64_t number : numbers) {
    changes.push_back(wrapped_minus(number, std::exchange(before, number)));
  }
  Residuals found;
  for (const std::int64_t change : changes) found.unit = std::gcd(found.unit, magnitude(change));
  for (const std::int64_t change : changes) {
    const std::uint64_t parts = found.unit == 0 ? 0 : magnitude(change) / found.unit;
    // The largest magnitude, 2^63, is negative alone and fits.
    found.coded.push_back(zigzag(static_cast<std::int64_t>(change < 0 ? ~parts + 1 : parts)));
  }
  return found;
}

/// The lowest bytes of all, then the next: noise stays with noise, and what hardly changes with its
/// like. How many planes there are, then each with its size squeezed; 0: it is as it is.
std::string as_planes(const std::vector<std::uint64_t>& coded) {
  const Squeezer squeezer(squeeze_level, Squeezing::noise);
  const auto width = static_cast<unsigned>(std::bit_width(*std::ranges::max_element(coded)));
  const unsigned planes = (width + 7) / 8;
  std::string bytes(1, static_cast<char>(planes));
  for (unsigned number = 0; number < planes; ++number) {
    std::string plane;
    for (const std::uint64_t one : coded) {
      plane += static_cast<char>(static_cast<std::uint8_t>(one >> (8 * number)));
    }
    const std::string smaller = squeezer.squeezed(plane);
    const bool helps = !smaller.empty() && smaller.size() + 1 < plane.size();
    put_varint(bytes, helps ? smaller.size() : 0);
    bytes += helps ? smaller : plane;
  }
  return bytes;
}

void put_numbers(std::string& body, const std::vector<std::int64_t>& numbers) {
  const Residuals residuals = residuals_of(numbers);
  body += static_cast<char>(written_shape);
  put_varint(body, residuals.unit);
  put_signed(body, numbers.front());
  if (residuals.unit != 0) body += as_planes(residuals.coded);
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::invalid, "a block of the history is damaged: {}", what);
}

std::optional<std::vector<std::uint64_t>> read_varints(std::string_view bytes, std::size_t count) {
  ByteReader reader(bytes);
  std::vector<std::uint64_t> coded(count);
  for (std::uint64_t& one : coded) {
    const auto next = reader.varint();
    if (!next) return std::nullopt;
    one = *next;
  }
  if (!reader.at_end()) return std::nullopt;
  return coded;
}

std::optional<std::vector<std::uint64_t>> read_planes(std::string_view bytes, std::size_t count) {
  ByteReader reader(bytes);
  const auto planes = reader.byte();
  if (!planes || *planes > 8) return std::nullopt;
  std::vector<std::uint64_t> coded(count);
  for (unsigned number = 0; number < *planes; ++number) {
    const auto size = reader.varint();
    const auto stored = size ? reader.bytes(*size == 0 ? count : *size) : std::nullopt;
    if (!stored) return std::nullopt;
    std::string loose;
    if (*size != 0) loose = unsqueezed(*stored, count).value_or("");
    const std::string_view plane = *size == 0 ? *stored : std::string_view(loose);
    if (plane.size() != count) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
      coded[i] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(plane[i])) << (8 * number);
    }
  }
  if (!reader.at_end()) return std::nullopt;
  return coded;
}

std::optional<std::vector<std::uint64_t>> read_packed(std::string_view bytes, std::size_t count) {
  if (bytes.empty()) return std::nullopt;
  const unsigned width = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  if (width > 64 || bytes.size() != (width * count + 7) / 8) return std::nullopt;
  std::vector<std::uint64_t> coded(count);
  std::size_t at = 0;  // the next bit
  for (std::uint64_t& one : coded) {
    for (unsigned got = 0; got < width;) {
      const auto skipped = static_cast<unsigned>(at % 8);
      const unsigned taken = std::min(width - got, 8 - skipped);
      const auto byte = static_cast<std::uint8_t>(bytes[at / 8]);
      const std::uint64_t bits = (byte >> skipped) & ((1U << taken) - 1);
      one |= bits << got;
      got += taken;
      at += taken;
    }
  }
  return coded;
}

Result<std::vector<std::int64_t>> read_numbers(ByteReader& reader, std::size_t count) {
  const auto shape = reader.byte();
  const auto unit = reader.varint();
  const auto origin = reader.signed_varint();
  if (!shape || !unit || !origin) return damaged("it ends too early");
  const auto predictor = static_cast<Predictor>(*shape & 3U);
  const auto layout = static_cast<Layout>((*shape >> 2U) & 3U);
  const bool is_squeezed = (*shape & squeezed_varints) != 0;
  const bool is_known = (*shape & ~31U) == 0 && (*shape & 3U) <= 2 && layout <= Layout::packed;
  if (!is_known || (is_squeezed && layout != Layout::varints)) {
    return damaged("it has an unknown shape");
  }
  std::optional<std::vector<std::uint64_t>> coded;
  if (*unit == 0) {
    if (!reader.at_end()) return damaged("there is something behind it");
    coded = std::vector<std::uint64_t>(count);
  } else {
    std::string_view payload = reader.rest();
    std::optional<std::string> loose;
    if (is_squeezed) {
      loose = unsqueezed(payload, 1 + 10 * count);
      if (!loose) return damaged("its squeezed part does not open");
      payload = *loose;
    }
    coded = layout == Layout::planes   ? read_planes(payload, count)
            : layout == Layout::packed ? read_packed(payload, count)
                                       : read_varints(payload, count);
    if (!coded) return damaged("its numbers do not add up");
  }
  std::vector<std::int64_t> numbers(count);
  std::int64_t before = *origin;
  std::int64_t step = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t one = (*coded)[i];
    const std::uint64_t parts =
        predictor == Predictor::least ? one : static_cast<std::uint64_t>(unzigzag(one));
    const auto left = static_cast<std::int64_t>(parts * *unit);
    const std::int64_t change = predictor == Predictor::line ? wrapped_plus(left, step) : left;
    numbers[i] = wrapped_plus(before, change);
    if (predictor == Predictor::least) continue;
    before = numbers[i];
    step = change;
  }
  return numbers;
}

}  // namespace

std::optional<Entry> Entry::of_kind(std::uint8_t kind) {
  if (kind == kind_value || kind >= kinds) return std::nullopt;
  Entry entry;
  entry.kind_ = kind;
  return entry;
}

std::string encode_column(std::span<const Entry> entries) {
  BERTH_CHECK(entries.size() <= most_entries, "a column is no longer than a block can be");
  std::string body(1, static_cast<char>(column_format));
  put_varint(body, entries.size());
  std::vector<std::int64_t> numbers;
  numbers.reserve(entries.size());
  for (std::size_t at = 0; at < entries.size();) {
    const std::uint8_t kind = entries[at].kind();
    const std::size_t from = at;
    for (; at < entries.size() && entries[at].kind() == kind; ++at) {
      if (const auto value = entries[at].value()) numbers.push_back(*value);
    }
    body += static_cast<char>(kind);
    put_varint(body, at - from);
  }
  if (!numbers.empty()) put_numbers(body, numbers);
  return sealed(std::move(body));
}

Result<std::vector<Entry>> detail::decode_column_body(std::string_view body) {
  ByteReader reader(body);
  const auto version = reader.byte();
  if (!version) return damaged("it is empty");
  if (*version != column_format) return damaged("it is of an unknown version");
  const auto count = reader.varint();
  if (!count || *count > most_entries) return damaged("its length is no length");
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(*count));
  std::size_t with_number = 0;
  while (entries.size() < *count) {
    const auto kind = reader.byte();
    const auto length = reader.varint();
    if (!kind || *kind >= Entry::kinds || !length || *length == 0 ||
        *length > *count - entries.size()) {
      return damaged("its runs do not add up");
    }
    if (*kind == Entry::kind_value) with_number += static_cast<std::size_t>(*length);
    const Entry one = Entry::of_kind(*kind).value_or(Entry(std::int64_t{0}));
    entries.insert(entries.end(), static_cast<std::size_t>(*length), one);
  }
  if (with_number == 0) {
    if (!reader.at_end()) return damaged("there is something behind it");
    return entries;
  }
  auto numbers = read_numbers(reader, with_number);
  if (!numbers) return std::unexpected(std::move(numbers).error());
  std::size_t next = 0;
  for (Entry& entry : entries) {
    if (entry.kind() == Entry::kind_value) entry = Entry((*numbers)[next++]);
  }
  return entries;
}

Result<std::vector<Entry>> decode_column(std::string_view block) {
  const auto body = unsealed(block);
  if (!body) return damaged("its checksum is wrong");
  return detail::decode_column_body(*body);
}

std::string encode_times(std::span<const std::int64_t> times) {
  std::vector<Entry> entries;
  entries.reserve(times.size());
  for (const std::int64_t time : times) entries.emplace_back(time);
  return encode_column(entries);
}

Result<std::vector<std::int64_t>> decode_times(std::string_view block) {
  const auto entries = decode_column(block);
  if (!entries) return std::unexpected(entries.error());
  std::vector<std::int64_t> times;
  times.reserve(entries->size());
  for (const Entry& entry : *entries) {
    const auto value = entry.value();
    if (!value) return damaged("a time is missing");
    times.push_back(*value);
  }
  return times;
}

}  // namespace berth::history
