#include "diagnose/ranks/pickle.h"

#include <bit>
#include <map>

namespace berth {

namespace {
constexpr std::size_t most_values = 8'000'000;

/// pickle.py's names of opcodes; those of plain data alone.
enum Opcode : unsigned char {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  none = 'N',
  binfloat = 'G',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  binunicode = 'X',
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes = 'B',
  short_binbytes = 'C',
  binstring = 'T',
  short_binstring = 'U',
  append = 'a',
  appends = 'e',
  setitem = 's',
  setitems = 'u',
  empty_dict = '}',
  empty_list = ']',
  list = 'l',
  dict = 'd',
  tuple = 't',
  empty_tuple = ')',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8a,
  binget = 'h',
  long_binget = 'j',
  binput = 'q',
  long_binput = 'r',
  memoize = 0x94,
  proto = 0x80,
  frame = 0x95,
};
}  // namespace

class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : rest_(bytes) {}

  Result<Pickle> read() {
    for (;;) {
      const auto code = number(1);
      if (!code) return wrong("it is cut off");
      if (*code == stop) break;
      if (const char* mistake = take(static_cast<unsigned char>(*code))) return wrong(mistake);
      if (pickle_.values_.size() > most_values || stack_.size() > most_values) {
        return wrong("it is larger than any dump");
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) return wrong("it does not end with one value");
    pickle_.root_ = stack_.back();
    return std::move(pickle_);
  }

 private:
  using Number = Pickle::Number;
  static constexpr const char* cut_off = "it is cut off";
  static constexpr const char* underflow = "an opcode wants more than there is";

  static std::unexpected<Error> wrong(const char* what) {
    return fail(ErrorCode::invalid, "no pickle of plain data: {}", what);
  }

  /// Little-endian.
  std::optional<std::uint64_t> number(std::size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i > 0; --i) {
      value = value << 8 | static_cast<unsigned char>(rest_[i - 1]);
    }
    rest_.remove_prefix(bytes);
    return value;
  }

  const char* push(Pickle::Value value) {
    stack_.push_back(static_cast<Number>(pickle_.values_.size()));
    pickle_.values_.push_back(std::move(value));
    return nullptr;
  }
  const char* push_text(std::size_t bytes_of_length) {
    const auto length = number(bytes_of_length);
    if (!length || *length > rest_.size()) return cut_off;
    std::string text(rest_.substr(0, *length));
    rest_.remove_prefix(*length);
    return push(std::move(text));
  }
  const char* push_integer(std::size_t bytes, bool is_signed) {
    const auto value = number(bytes);
    if (!value) return cut_off;
    const auto shift = static_cast<unsigned>(64 - 8 * bytes);
    if (bytes == 0) return push(std::int64_t{0});
    if (!is_signed) return push(static_cast<std::int64_t>(*value));
    return push(static_cast<std::int64_t>(*value << shift) >> shift);
  }
  const char* push_long() {
    const auto length = number(1);
    if (!length || *length > 8) return "a number is too long";
    return push_integer(*length, true);
  }
  const char* push_float() {
    if (rest_.size() < 8) return cut_off;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(8);
    return push(std::bit_cast<double>(bits));
  }

  /// Takes the items above a place from the stack.
  std::vector<Number> above(std::size_t place) {
    std::vector<Number> items(stack_.begin() + static_cast<std::ptrdiff_t>(place), stack_.end());
    stack_.resize(place);
    return items;
  }
  std::optional<std::vector<Number>> above_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
    const std::size_t place = marks_.back();
    marks_.pop_back();
    return above(place);
  }

  const char* push_list(std::optional<std::vector<Number>> items) {
    if (!items) return underflow;
    return push(Pickle::List{*std::move(items)});
  }
  const char* push_tuple(std::size_t count) {
    if (stack_.size() < count) return underflow;
    return push_list(above(stack_.size() - count));
  }
  const char* push_dictionary(std::optional<std::vector<Number>> items) {
    push(Pickle::Dictionary{});
    return add_entries(std::move(items));
  }

  const char* add_items(std::optional<std::vector<Number>> items) {
    if (!items || stack_.empty()) return underflow;
    auto* const into = std::get_if<Pickle::List>(&pickle_.values_[stack_.back()]);
    if (into == nullptr) return "something is appended to what is no list";
    into->items.insert(into->items.end(), items->begin(), items->end());
    return count(items->size());
  }
  const char* add_entries(std::optional<std::vector<Number>> items) {
    if (!items || items->size() % 2 != 0 || stack_.empty()) return underflow;
    auto* const into = std::get_if<Pickle::Dictionary>(&pickle_.values_[stack_.back()]);
    if (into == nullptr) return "something is set in what is no dictionary";
    for (std::size_t i = 0; i < items->size(); i += 2) {
      into->entries.emplace_back((*items)[i], (*items)[i + 1]);
    }
    return count(items->size());
  }
  std::optional<std::vector<Number>> last(std::size_t count) {
    if (stack_.size() < count) return std::nullopt;
    return above(stack_.size() - count);
  }
  /// References take room as well, and a few bytes of a file can make one.
  const char* count(std::size_t more) {
    references_ += more;
    return references_ > most_values ? "it is larger than any dump" : nullptr;
  }

  const char* remember(std::optional<std::uint64_t> place) {
    if (!place) return cut_off;
    if (stack_.empty()) return underflow;
    memory_[*place] = stack_.back();
    return nullptr;
  }
  const char* recall(std::optional<std::uint64_t> place) {
    if (!place) return cut_off;
    const auto found = memory_.find(*place);
    if (found == memory_.end()) return "it refers to what is not there";
    stack_.push_back(found->second);
    return nullptr;
  }

  const char* skip(std::size_t bytes) { return number(bytes) ? nullptr : cut_off; }
  const char* drop(const std::optional<std::vector<Number>>& items) {
    return items ? nullptr : underflow;
  }
  const char* note_mark() {
    marks_.push_back(stack_.size());
    return count(1);
  }

  const char* take(unsigned char code) {
    switch (code) {
      case proto:
        return skip(1);
      case frame:
        return skip(8);
      case mark:
        return note_mark();
      case pop:
        return drop(last(1));
      case pop_mark:
        return drop(above_mark());
      case none:
        return push(std::monostate());
      case new_true:
        return push(true);
      case new_false:
        return push(false);
      case binint:
        return push_integer(4, true);
      case binint1:
        return push_integer(1, false);
      case binint2:
        return push_integer(2, false);
      case long1:
        return push_long();
      case binfloat:
        return push_float();
      case short_binunicode:
      case short_binbytes:
      case short_binstring:
        return push_text(1);
      case binunicode:
      case binbytes:
      case binstring:
        return push_text(4);
      case binunicode8:
        return push_text(8);
      case empty_list:
      case empty_tuple:
        return push(Pickle::List{});
      case empty_dict:
        return push(Pickle::Dictionary{});
      case list:
      case tuple:
        return push_list(above_mark());
      case tuple1:
        return push_tuple(1);
      case tuple2:
        return push_tuple(2);
      case tuple3:
        return push_tuple(3);
      case dict:
        return push_dictionary(above_mark());
      case append:
        return add_items(last(1));
      case appends:
        return add_items(above_mark());
      case setitem:
        return add_entries(last(2));
      case setitems:
        return add_entries(above_mark());
      case binput:
        return remember(number(1));
      case long_binput:
        return remember(number(4));
      case memoize:
        return remember(memory_.size());
      case binget:
        return recall(number(1));
      case long_binget:
        return recall(number(4));
      default:
        return "an opcode that is not for plain data";
    }
  }

  std::string_view rest_;
  Pickle pickle_;
  std::vector<Number> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, Number> memory_;
  std::size_t references_ = 0;
};

Result<Pickle> Pickle::read(std::string_view bytes) { return PickleReader(bytes).read(); }

std::optional<Pickle::Number> Pickle::find(Number dictionary, std::string_view key) const {
  const auto* const entries = std::get_if<Dictionary>(&at(dictionary));
  if (entries == nullptr) return std::nullopt;
  for (const auto& [name, value] : entries->entries) {
    const auto* const text = std::get_if<std::string>(&at(name));
    if (text != nullptr && *text == key) return value;
  }
  return std::nullopt;
}

const std::vector<Pickle::Number>& Pickle::items(Number list) const {
  static const std::vector<Number> nothing;
  const auto* const found = std::get_if<List>(&at(list));
  return found == nullptr ? nothing : found->items;
}

std::optional<std::int64_t> Pickle::integer(std::optional<Number> number) const {
  const auto* const found = number ? std::get_if<std::int64_t>(&at(*number)) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string_view Pickle::text(std::optional<Number> number) const {
  const auto* const found = number ? std::get_if<std::string>(&at(*number)) : nullptr;
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

}  // namespace berth
