#pragma once
// A strict reader of what the metrics pages write, for tests only. It fails on faults that
// Prometheus lets pass. Examples: a family in two pieces, a number that is none.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace berth::serve {

struct ReadPage {
  std::map<std::string, std::string> types;  // by the family's name as it stands behind TYPE
  std::map<std::string, double> samples;     // by name and labels as they stand
  std::vector<std::string> faults;

  [[nodiscard]] std::optional<double> value(const std::string& series) const {
    const auto found = samples.find(series);
    return found == samples.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string all_faults() const {
    std::string text;
    for (const std::string& fault : faults) text += fault + "\n";
    return text;
  }
};

class ExpositionReader {
 public:
  ExpositionReader(std::string_view page, bool openmetrics) : openmetrics_(openmetrics) {
    if (!page.ends_with("\n")) fault("the last line has no end", "");
    if (openmetrics != page.ends_with("# EOF\n")) fault("# EOF stands in OpenMetrics alone", "");
    if (openmetrics && page.ends_with("# EOF\n")) page.remove_suffix(6);
    if (page.ends_with("\n")) page.remove_suffix(1);
    for (const std::string_view line : split(page, '\n')) {
      line.starts_with("#") ? head(line) : sample(line);
    }
    end_family();
  }
  [[nodiscard]] const ReadPage& page() const { return page_; }

 private:
  void fault(std::string_view what, std::string_view line) {
    page_.faults.push_back(fmt::format("{}: {}", what, line));
  }

  static bool is_name(std::string_view text) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (text.empty() || !letter(text[0])) return false;
    for (const char c : text) {
      if (!letter(c) && (c < '0' || c > '9')) return false;
    }
    return true;
  }

  void end_family() {
    if (!family_.empty() && !has_sample_) fault("a family without a sample", family_);
  }

  void head(std::string_view line) {
    const auto words = split(line, ' ');
    if (words.size() < 4 || words[0] != "#" || (words[1] != "HELP" && words[1] != "TYPE")) {
      return fault("neither HELP nor TYPE", line);
    }
    const std::string name(words[2]);
    if (!is_name(name)) fault("no name", line);
    if (words[1] == "HELP") {
      end_family();
      if (!helped_.insert(name).second) fault("a second HELP", line);
      family_ = name;
      has_sample_ = has_type_ = false;
      return;
    }
    const std::set<std::string_view> known =
        openmetrics_ ? std::set<std::string_view>{"gauge", "counter", "info", "unknown"}
                     : std::set<std::string_view>{"gauge", "counter"};
    if (name != family_ || has_type_) fault("TYPE does not follow its HELP", line);
    if (words.size() != 4 || !known.contains(words[3])) fault("no such type", line);
    if (!page_.types.emplace(name, std::string(words[3])).second) fault("a second TYPE", line);
    has_type_ = true;
  }

  /// The name that a sample of the family must have.
  [[nodiscard]] std::string sample_name() const {
    const auto type = page_.types.find(family_);
    if (!openmetrics_ || type == page_.types.end()) return family_;
    if (type->second == "counter") return family_ + "_total";
    return type->second == "info" ? family_ + "_info" : family_;
  }

  void sample(std::string_view line) {
    const std::size_t name_end = std::min(line.find_first_of("{ "), line.size());
    const std::string_view name = line.substr(0, name_end);
    if (!has_type_ || name != sample_name()) fault("not of the family above", line);
    has_sample_ = true;
    std::string_view rest = line.substr(name_end);
    if (rest.starts_with('{') && !labels(rest)) return fault("bad labels", line);
    const std::string series(line.substr(0, line.size() - rest.size()));
    if (!rest.starts_with(' ')) return fault("no value", line);
    number(series, rest.substr(1), line);
  }

  /// Takes {a="b",c="d"} off the front.
  bool labels(std::string_view& rest) {
    std::set<std::string_view> names;
    do {
      rest.remove_prefix(1);
      const std::size_t equals = rest.find('=');
      if (equals == std::string_view::npos) return false;
      const std::string_view name = rest.substr(0, equals);
      rest.remove_prefix(equals + 1);
      if (!is_name(name) || name.starts_with("__") || !names.insert(name).second) return false;
      if (!label_text(rest)) return false;
    } while (rest.starts_with(','));
    if (!rest.starts_with('}')) return false;
    rest.remove_prefix(1);
    return true;
  }

  static bool label_text(std::string_view& rest) {
    if (!rest.starts_with('"')) return false;
    std::size_t i = 1;
    for (; i < rest.size() && rest[i] != '"'; ++i) {
      if (rest[i] != '\\') continue;
      ++i;
      if (i == rest.size() || (rest[i] != '\\' && rest[i] != '"' && rest[i] != 'n')) return false;
    }
    if (i >= rest.size()) return false;
    const std::string_view text = rest.substr(1, i - 1);
    rest.remove_prefix(i + 1);
    return printable(text) == text;  // no control characters, no broken UTF-8
  }

  void number(const std::string& series, std::string_view text, std::string_view line) {
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!whole || !std::isfinite(value)) return fault("no finite number", line);
    const auto type = page_.types.find(family_);
    if (type != page_.types.end() && type->second == "counter" && value < 0) {
      fault("a counter below zero", line);
    }
    if (!page_.samples.emplace(series, value).second) fault("a second sample", line);
  }

  bool openmetrics_;
  ReadPage page_;
  std::set<std::string> helped_;
  std::string family_;
  bool has_type_ = false;
  bool has_sample_ = false;
};

inline ReadPage read_page(std::string_view page, bool openmetrics = false) {
  return ExpositionReader(page, openmetrics).page();
}

}  // namespace berth::serve
