#include "base/line_archive.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace berth {

namespace {

std::string escaped(std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && c != '%') {
      text += c;
    } else {
      text += '%';
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high && low) {
        value += static_cast<char>(*high << 4U | *low);
        i += 2;
        continue;
      }
    }
    value += text[i];
  }
  return value;
}

class LineWriter final : public Archive {
 public:
  [[nodiscard]] bool is_reading() const override { return false; }
  [[nodiscard]] bool is_text() const override { return true; }
  [[nodiscard]] std::string take() { return std::move(text_); }

  void scalar(bool& value) override { word(value ? "1" : "0"); }
  void scalar(std::int64_t& value) override { word(std::to_string(value)); }
  void scalar(std::uint64_t& value) override { word(std::to_string(value)); }
  void scalar(std::string& value) override {
    BERTH_CHECK(!words_, "a line's words are numbers");
    word(escaped(value));
  }
  void scalar(double&) override { BERTH_CHECK(false, "no line has a fraction"); }
  void scalar(Scalar&) override { BERTH_CHECK(false, "no line has any type"); }
  bool open(std::string_view key, bool there, Form, Absent*) override {
    if (there && !words_) key_ = key;
    return there;
  }
  bool has_value(bool there, Absent*) override { return there; }
  void begin_object() override {
    BERTH_CHECK(!words_, "a line holds one object");
    words_.emplace();
  }
  void end_object() override {
    const auto words = std::exchange(words_, std::nullopt);
    word(words.value_or(""));
  }
  std::size_t begin_list(std::size_t count) override {
    is_list_ = true;
    return count;
  }
  void end_list() override { is_list_ = false; }

 private:
  void word(const std::string& value) {
    if (words_) {
      *words_ += (words_->empty() ? "" : " ") + value;
    } else if (is_list_ || !value.empty()) {
      text_ += key_ + "=" + value + "\n";
    }
  }

  std::string text_;
  std::string key_;
  std::optional<std::string> words_;  // of the object that is written
  bool is_list_ = false;
};

class LineReader final : public Archive {
 public:
  explicit LineReader(std::string_view text) {
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      const std::string_view line = text.substr(0, end);
      const std::size_t equals = line.find('=');
      if (equals != line.npos) lines_.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      text.remove_prefix(end + 1);
    }
  }
  [[nodiscard]] bool is_reading() const override { return true; }
  [[nodiscard]] bool is_text() const override { return true; }
  [[nodiscard]] bool is_right() const override { return is_right_; }
  void wrong(const Sentence&) override { is_right_ = false; }

  void scalar(bool& value) override { value = next() == "1"; }
  void scalar(std::int64_t& value) override {
    const auto number = parse_unsigned(next());
    is_right_ = is_right_ && number && std::in_range<std::int64_t>(*number);
    if (is_right_) value = static_cast<std::int64_t>(*number);
  }
  void scalar(std::uint64_t& value) override {
    const auto number = parse_unsigned(next());
    is_right_ = is_right_ && number;
    if (is_right_) value = *number;
  }
  void scalar(std::string& value) override { value = unescaped(next()); }
  void scalar(double&) override { BERTH_CHECK(false, "no line has a fraction"); }
  void scalar(Scalar&) override { BERTH_CHECK(false, "no line has any type"); }
  bool open(std::string_view key, bool, Form, Absent*) override {
    if (is_object_) return true;
    is_right_ = true;
    items_.clear();
    for (const auto& [name, value] : lines_) {
      if (name == key) items_.push_back(value);
    }
    if (items_.empty()) return false;
    rest_ = items_.back();
    return true;
  }
  bool has_value(bool, Absent*) override { return true; }
  void begin_object() override { is_object_ = true; }
  void end_object() override {
    is_right_ = is_right_ && rest_.data() == nullptr;
    is_object_ = false;
  }
  std::size_t begin_list(std::size_t most) override {
    at_ = 0;
    return std::min(most, items_.size());
  }
  void next_item() override { rest_ = items_[at_++]; }

 private:
  std::string_view next() {
    const std::size_t end = is_object_ ? rest_.find(' ') : rest_.npos;
    const std::string_view word = rest_.substr(0, end);
    rest_ = end == rest_.npos ? std::string_view() : rest_.substr(end + 1);
    return word;
  }

  std::vector<std::pair<std::string_view, std::string_view>> lines_;
  std::vector<std::string_view> items_;  // of the member that is read
  std::size_t at_ = 0;
  std::string_view rest_;  // of its line; null: all of it was taken
  bool is_object_ = false;
  bool is_right_ = true;
};

}  // namespace

std::string write_lines(const std::function<void(Archive&)>& walk) {
  LineWriter writer;
  walk(writer);
  return writer.take();
}

void read_lines(std::string_view text, const std::function<void(Archive&)>& walk) {
  LineReader reader(text);
  walk(reader);
}

}  // namespace berth
