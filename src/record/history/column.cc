#include "record/history/column.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "record/history/bytes.h"

namespace berth::history {

namespace {

// Body: format, count, runs of kinds, and where there are numbers: the shape, what all residuals
// are multiples of, the origin (and for lines the first step), then the residuals.
constexpr std::uint8_t column_format = 2;
// Higher levels gain nothing on a few kilobytes and cost ten times as much.
constexpr int squeeze_level = 9;

enum class Predictor : std::uint8_t { least, last, line };
// `packed`: each in as many bits as the largest needs, which noise has no shorter form than.
enum class Layout : std::uint8_t { varints, planes, packed };

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

struct Residuals {
  Predictor predictor = Predictor::last;
  std::int64_t origin = 0;
  std::uint64_t unit = 0;  // 0: all of them are 0
  std::vector<std::uint64_t> coded;
  std::uint64_t bits = 0;  // about what they need
};

/// What is left of each number once its predictor has said its part.
std::vector<std::int64_t> leftovers(const std::vector<std::int64_t>& numbers, Predictor predictor,
                                    std::int64_t origin) {
  std::vector<std::int64_t> left(numbers.size());
  std::int64_t before = origin;
  std::int64_t step = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t change = wrapped_minus(numbers[i], before);
    left[i] = predictor == Predictor::line ? wrapped_minus(change, step) : change;
    if (predictor == Predictor::least) continue;
    before = numbers[i];
    // The first change is 0 and says nothing of the slope.
    step = change;
  }
  return left;
}

Residuals residuals_by(const std::vector<std::int64_t>& numbers, Predictor predictor) {
  Residuals found{.predictor = predictor};
  found.origin = predictor == Predictor::least ? *std::min_element(numbers.begin(), numbers.end())
                                               : numbers.front();
  const std::vector<std::int64_t> left = leftovers(numbers, predictor, found.origin);
  // Above the least there is no sign to keep.
  const bool is_unsigned = predictor == Predictor::least;
  const auto size_of = [&](std::int64_t one) {
    return is_unsigned ? static_cast<std::uint64_t>(one) : magnitude(one);
  };
  for (const std::int64_t one : left) found.unit = std::gcd(found.unit, size_of(one));
  found.coded.reserve(left.size());
  for (const std::int64_t one : left) {
    const std::uint64_t parts = found.unit == 0 ? 0 : size_of(one) / found.unit;
    // The largest magnitude, 2^63, is negative alone and fits.
    const auto with_sign = static_cast<std::int64_t>(one < 0 ? ~parts + 1 : parts);
    found.coded.push_back(is_unsigned ? parts : zigzag(with_sign));
    found.bits += static_cast<std::uint64_t>(std::bit_width(found.coded.back()));
  }
  return found;
}

std::string as_varints(const std::vector<std::uint64_t>& coded) {
  std::string bytes;
  for (const std::uint64_t one : coded) put_varint(bytes, one);
  return bytes;
}

/// The lowest bytes of all, then the next: noise stays with noise, and what hardly changes with its
/// like. How many planes there are, then each with its size squeezed; 0: it is as it is.
std::string as_planes(const std::vector<std::uint64_t>& coded, int width,
                      const Squeezer& squeezer) {
  const unsigned planes = (static_cast<unsigned>(width) + 7) / 8;
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

std::string as_packed(const std::vector<std::uint64_t>& coded, int width) {
  std::string bytes(1, static_cast<char>(width));
  std::uint64_t open = 0;  // fewer than eight bits, the first the lowest
  int used = 0;
  for (std::uint64_t one : coded) {
    for (int left = width; left > 0;) {
      const int taken = std::min(left, 8 - used);
      open |= (one & ((std::uint64_t{1} << taken) - 1)) << used;
      one >>= taken;
      left -= taken;
      used += taken;
      if (used < 8) continue;
      bytes += static_cast<char>(static_cast<std::uint8_t>(open));
      open = 0;
      used = 0;
    }
  }
  if (used > 0) bytes += static_cast<char>(static_cast<std::uint8_t>(open));
  return bytes;
}

std::uint8_t shape_of(Predictor predictor, Layout layout, bool is_squeezed) {
  const unsigned shape = std::to_underlying(predictor) +
                         (unsigned{std::to_underlying(layout)} << 2U) + (is_squeezed ? 16U : 0U);
  return static_cast<std::uint8_t>(shape);
}

/// The shortest of all ways to write them down.
std::string payload_of(const Residuals& residuals, std::uint8_t& shape) {
  const std::uint64_t most = *std::max_element(residuals.coded.begin(), residuals.coded.end());
  const auto width = static_cast<int>(std::bit_width(most));
  std::string best = as_varints(residuals.coded);
  shape = shape_of(residuals.predictor, Layout::varints, false);
  const auto offer = [&](std::string bytes, Layout layout, bool is_squeezed) {
    if (bytes.empty() || bytes.size() >= best.size()) return;
    best = std::move(bytes);
    shape = shape_of(residuals.predictor, layout, is_squeezed);
  };
  const Squeezer squeezer(squeeze_level);
  offer(squeezer.squeezed(best), Layout::varints, true);
  offer(as_planes(residuals.coded, width, squeezer), Layout::planes, false);
  offer(as_packed(residuals.coded, width), Layout::packed, false);
  return best;
}

void put_numbers(std::string& body, const std::vector<std::int64_t>& numbers) {
  Residuals best = residuals_by(numbers, Predictor::last);
  for (const Predictor predictor : {Predictor::least, Predictor::line}) {
    Residuals other = residuals_by(numbers, predictor);
    if (other.bits < best.bits) best = std::move(other);
  }
  std::uint8_t shape = shape_of(best.predictor, Layout::varints, false);
  const std::string payload = best.unit == 0 ? std::string() : payload_of(best, shape);
  body += static_cast<char>(shape);
  put_varint(body, best.unit);
  put_signed(body, best.origin);
  body += payload;
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::invalid, "a block of the history is damaged: " + std::string(what));
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
  const bool is_squeezed = (*shape & 16U) != 0;
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
