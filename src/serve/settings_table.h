#pragma once
// A table of serve.toml on its way to values. Only settings*.cc include this: behind it stands
// toml++, whose headers take long to compile.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/toml.h"
#include "serve/settings.h"

namespace berth::serve {

/// Reads one table: each key once, what is left is unknown.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  void text(std::string_view key, std::optional<std::string>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto value = node->value_exact<std::string>()) {
      into = *value;
    } else {
      refuse(key, *node, "a text in quotes is wanted");
    }
  }
  /// A text or a whole number, as text.
  void word(std::string_view key, std::optional<std::string>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto number = node->value_exact<std::int64_t>()) {
      into = std::to_string(*number);
    } else {
      text(key, into);
    }
  }
  void texts(std::string_view key, std::vector<std::string>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto value = node->value_exact<std::string>()) {
      into = {*value};
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr) return refuse(key, *node, "a list of texts is wanted");
    into.clear();
    for (const toml::node& one : *list) {
      const auto value = one.value_exact<std::string>();
      if (!value) return refuse(key, one, "a list of texts is wanted");
      into.push_back(*value);
    }
  }
  void number(std::string_view key, std::int64_t least, std::int64_t most, std::size_t& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < least || *value > most) {
      return refuse(key, *node, fmt::format("a number from {} to {} is wanted", least, most));
    }
    into = static_cast<std::size_t>(*value);
  }
  void flag(std::string_view key, bool& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto value = node->value_exact<bool>()) {
      into = *value;
    } else {
      refuse(key, *node, "true or false is wanted");
    }
  }
  const toml::table* table(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) refuse(key, *node, "a table is wanted");
    return node->as_table();
  }
  /// Calls `read` with each table of a list of tables: [[alerts.webhook]].
  template <class Read>
  void tables(std::string_view key, Read read) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr) return refuse(key, *node, "a list of tables is wanted");
    for (const toml::node& one : *list) {
      if (!one.is_table()) return refuse(key, one, "a list of tables is wanted");
      read(*one.as_table());
    }
  }
  void finish(std::vector<std::string>& unknown) {
    for (const auto& [key, node] : table_) {
      const std::string_view name = key.str();
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        unknown.push_back(
            fmt::format("{}{} (line {})", name_, printable(name), node.source().begin.line));
      }
    }
  }
  void refuse(std::string_view key, const Error& why) {
    const toml::node* node = table_.get(key);
    refuse(key, *node, why.message());
  }
  [[nodiscard]] const std::optional<Error>& mistake() const { return mistake_; }

 private:
  const toml::node* find(std::string_view key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  void refuse(std::string_view key, const toml::node& node, std::string_view why) {
    if (mistake_) return;
    mistake_ =
        Error(ErrorCode::invalid, "line {}: {}{}: {}", node.source().begin.line, name_, key, why);
  }

  const toml::table& table_;
  std::string name_;
  std::vector<std::string> known_;
  std::optional<Error> mistake_;
};

// settings_alerts.cc
[[nodiscard]] std::optional<Error> read_alerts(const toml::table& table, Settings& settings);

}  // namespace berth::serve
