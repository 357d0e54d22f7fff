#pragma once
// Python's pickles, as far as they are plain data: numbers, texts, lists, tuples, dictionaries. To
// unpickle runs whatever the file's writer wanted. Here nothing is ever called, imported or built,
// and an opcode that would is a mistake.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace berth {

/// The values of one pickle, by number: what refers to the same one twice, or to itself, does so
/// here. Nothing is walked through by itself, so that no file can make that endless.
class Pickle {
 public:
  using Number = std::uint32_t;
  struct List {
    std::vector<Number> items;
  };
  struct Dictionary {
    std::vector<std::pair<Number, Number>> entries;
  };
  using Value =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dictionary>;

  /// invalid: no pickle, cut off, or not of plain data alone.
  [[nodiscard]] static Result<Pickle> read(std::string_view bytes);

  [[nodiscard]] Number root() const { return root_; }
  [[nodiscard]] const Value& at(Number number) const { return values_[number]; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

  /// A dictionary's value by a text. Nothing: it is none, or has no such key.
  [[nodiscard]] std::optional<Number> find(Number dictionary, std::string_view key) const;
  /// Empty: it is no list or tuple.
  [[nodiscard]] const std::vector<Number>& items(Number list) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::optional<Number> number) const;
  /// Empty: it is no text.
  [[nodiscard]] std::string_view text(std::optional<Number> number) const;

 private:
  friend class PickleReader;
  std::vector<Value> values_;
  Number root_ = 0;
};

}  // namespace berth
