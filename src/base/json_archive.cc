#include "base/json_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <exception>
#include <iterator>
#include <new>

#include "base/json.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace berth {

namespace {

/// Straight into text: a tree of the whole would cost three times as much.
class JsonWriter final : public Archive {
 public:
  explicit JsonWriter(JsonLayout layout)
      : is_terse_(layout == JsonLayout::terse),
        indent_(is_terse_ ? 0 : static_cast<std::size_t>(layout)) {}
  [[nodiscard]] bool is_reading() const override { return false; }
  [[nodiscard]] bool is_text() const override { return true; }

  void scalar(bool& value) override { text_ += value ? "true" : "false"; }
  void scalar(std::int64_t& value) override { number(value); }
  void scalar(std::uint64_t& value) override { number(value); }
  void scalar(double& value) override {
    constexpr double exact = 1e15;
    if (is_terse_ && std::isfinite(value)) {
      fmt::format_to(std::back_inserter(text_), "{}", value);
      return;
    }
    if (value == std::trunc(value) && std::abs(value) < exact && !std::signbit(value)) {
      number(static_cast<std::int64_t>(value));
      text_ += ".0";
    } else {
      text_ += Json(value).dump();  // the shortest that reads back as the same; null if not finite
    }
  }
  void scalar(std::string& value) override { quoted(value); }
  void scalar(Scalar& value) override {
    std::visit([this](auto& one) { scalar(one); }, value);
  }

  bool open(std::string_view key, bool there, Form form, Absent* why) override {
    const bool untried = why == nullptr || *why == Absent::not_sampled;
    if (!there && form == Form::sparse && untried) return false;
    begin_entry();
    quoted(key);
    text_ += indent_ > 0 ? ": " : ":";
    if (there) return true;
    text_ += "null";
    if (why != nullptr) frames_.back().absent.emplace_back(key, *why);
    return false;
  }
  bool has_value(bool there, Absent* why) override {
    if (there) return true;
    why != nullptr ? quoted(name_of(*why)) : void(text_ += "null");
    return false;
  }
  void begin_object() override { begin('{'); }
  void always_why() override { frames_.back().always_why = true; }
  void end_object() override {
    if (frames_.back().always_why || !frames_.back().absent.empty()) {
      const auto absent = std::move(frames_.back().absent);
      frames_.back().absent.clear();
      if (open("why", true, Form::plain, nullptr)) begin_object();
      for (const auto& [key, why] : absent) {
        if (open(key, true, Form::plain, nullptr)) quoted(name_of(why));
      }
      end('}');
    }
    end('}');
  }
  std::size_t begin_list(std::size_t count) override {
    begin('[');
    return count;
  }
  void next_item() override { begin_entry(); }
  void end_list() override { end(']'); }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  struct Frame {
    bool is_empty = true;
    bool always_why = false;
    std::vector<std::pair<std::string, Absent>> absent;
  };

  void begin(char bracket) {
    text_ += bracket;
    frames_.emplace_back();
  }
  void end(char bracket) {
    const bool was_empty = frames_.back().is_empty;
    frames_.pop_back();
    if (!was_empty) new_line();
    text_ += bracket;
  }
  void begin_entry() {
    if (!std::exchange(frames_.back().is_empty, false)) text_ += ',';
    new_line();
  }
  void new_line() {
    if (indent_ == 0) return;
    text_ += '\n';
    text_.append(indent_ * frames_.size(), ' ');
  }
  void number(std::integral auto value) {
    std::array<char, 24> digits;
    text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }
  void quoted(std::string_view text) {
    const auto is_plain = [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
    if (std::ranges::all_of(text, is_plain)) {
      text_ += '"';
      text_ += text;
      text_ += '"';
    } else {
      text_ += printable_json(json_line(Json(text)));
    }
  }

  const bool is_terse_;
  const std::size_t indent_;
  std::string text_;
  std::vector<Frame> frames_;
};

/// All of it is hostile until it is a value.
class JsonReader final : public Archive {
 public:
  JsonReader(const Json& root, WrongValues wrong) : forgives_(wrong == WrongValues::absent) {
    constexpr std::size_t usual_depth = 16;
    values_.reserve(usual_depth);
    values_.push_back({.value = &root, .key = "it"});
  }
  [[nodiscard]] bool is_reading() const override { return true; }
  [[nodiscard]] bool is_text() const override { return true; }
  [[nodiscard]] bool is_good() const override { return mistake_.empty(); }
  void mistake(Sentence what) override {
    if (mistake_.empty()) mistake_ = std::move(what);
  }
  void wrong(const Sentence& what) override {
    Value& value = values_.back();
    value.is_wrong = true;
    if (!value.may_be_absent) mistake(sentence("{} {}", value.key, what));
  }
  [[nodiscard]] bool is_right() const override { return !values_.back().is_wrong; }
  [[nodiscard]] const Sentence& first_mistake() const { return mistake_; }

  void scalar(bool& value) override { take(value, current().is_boolean()); }
  void scalar(std::int64_t& value) override {
    const bool fits = current().is_number_integer() &&
                      (!current().is_number_unsigned() ||
                       std::in_range<std::int64_t>(current().get<std::uint64_t>()));
    take(value, fits);
  }
  void scalar(std::uint64_t& value) override { take(value, current().is_number_unsigned()); }
  void scalar(double& value) override { take(value, current().is_number()); }
  void scalar(std::string& value) override { take(value, current().is_string()); }
  void scalar(Scalar& value) override {
    const Json& json = current();
    if (json.is_string()) return scalar(value.emplace<std::string>());
    if (json.is_boolean()) return scalar(value.emplace<bool>());
    if (json.is_number_unsigned()) return scalar(value.emplace<std::uint64_t>());
    if (json.is_number_integer()) return scalar(value.emplace<std::int64_t>());
    scalar(value.emplace<double>());
  }

  bool open(std::string_view key, bool, Form form, Absent* why) override {
    if (!is_good()) return false;
    const Json* found = member(key);
    if (found == nullptr || found->is_null()) {
      if (form == Form::required) mistake(sentence("{} is missing", key));
      if (why != nullptr) *why = reason(key);
      return false;
    }
    const bool may_be_absent = forgives_ && form != Form::required;
    values_.push_back({.value = found, .key = key, .may_be_absent = may_be_absent});
    return true;
  }
  void close() override { values_.pop_back(); }
  bool has_value(bool, Absent* why) override {
    values_.back().may_be_absent = forgives_;
    const Json& value = current();
    const bool may_be_word = why != nullptr && value.is_string();
    const auto word = may_be_word ? absent_from_name(value.get_ref<const std::string&>())
                                  : std::optional<Absent>();
    if (word) *why = *word;
    return !word && !value.is_null();
  }
  void begin_object() override {
    if (!current().is_object()) wrong(sentence("is not an object"));
  }
  std::size_t begin_list(std::size_t most) override {
    const bool is_list = current().is_array();
    const std::size_t count = is_list ? current().size() : 0;
    if (!is_list) wrong(sentence("is not a list"));
    if (count > most && !forgives_) mistake(sentence("{} has too many items", values_.back().key));
    if (!is_good()) return 0;
    values_.push_back({.key = values_.back().key});  // the item being read, above its list
    return std::min(count, most);
  }
  void next_item() override {
    Value& list = values_[values_.size() - 2];
    const Json& item = list.value->get_ref<const Json::array_t&>()[list.next++];
    values_.back() = {.value = &item, .key = values_.back().key};
  }
  void end_list() override {
    if (is_good()) values_.pop_back();
  }
  [[nodiscard]] std::vector<std::string_view> keys() const override {
    std::vector<std::string_view> all;
    if (!current().is_object()) return all;
    for (const auto& [key, value] : current().get_ref<const Json::object_t&>()) all.push_back(key);
    return all;
  }

 private:
  struct Value {
    const Json* value = nullptr;
    std::string_view key;
    std::size_t next = 0;  // of an object the member to look at first, of a list the item
    bool may_be_absent = false;
    bool is_wrong = false;
  };

  [[nodiscard]] const Json& current() const { return *values_.back().value; }
  /// Written in the order in which they are read, as a rule.
  const Json* member(std::string_view key) {
    Value& object = values_.back();
    if (!object.value->is_object()) return nullptr;
    const auto& members = object.value->get_ref<const Json::object_t&>();
    auto found = members.begin() + static_cast<std::ptrdiff_t>(object.next);
    if (found == members.end() || found->first != key) {
      found = std::ranges::find(members, key, &Json::object_t::value_type::first);
    }
    if (found == members.end()) return nullptr;
    object.next = static_cast<std::size_t>(found - members.begin()) + 1;
    return &found->second;
  }
  [[nodiscard]] Absent reason(std::string_view key) const {
    const auto why = current().find("why");
    if (why == current().end() || !why->is_object()) return Absent::not_sampled;
    const auto word = why->find(key);
    if (word == why->end() || !word->is_string()) return Absent::not_sampled;
    return absent_from_name(word->get_ref<const std::string&>()).value_or(Absent::failed);
  }
  template <class T>
  void take(T& value, bool fits) {
    if (!is_good()) return;
    if (!fits) return wrong(sentence("has a value of the wrong type or range"));
    value = current().get<T>();
  }

  const bool forgives_;
  std::vector<Value> values_;
  Sentence mistake_;
};

}  // namespace

Sentence words_of_no_id(const std::string& text) {
  constexpr int shown = 64;
  return sentence("is no plain word of letters, digits and . _ : / - (\"{}\")",
                  cut_to_width(printable(text), shown, false));
}

void put(Archive& archive, DeviceId& id) {
  std::string text = id.text();
  archive.scalar(text);
  if (!archive.is_reading() || !archive.is_good()) return;
  if (!is_plain_id(text)) return archive.wrong(words_of_no_id(text));
  id = DeviceId(std::move(text));
}

void put(Archive& archive, char& letter) {
  std::string text(1, letter);
  archive.scalar(text);
  if (!archive.is_reading() || !archive.is_good()) return;
  if (text.size() != 1 || text[0] <= ' ' || text[0] > '~')
    return archive.wrong(sentence("is no letter"));
  letter = text[0];
}

void put(Archive& archive, std::vector<std::pair<std::string, std::string>>& pairs) {
  archive.begin_object();
  for (const std::string_view key : archive.keys()) pairs.emplace_back(key, std::string());
  for (auto& [name, value] : pairs) archive.member(name, value);
  archive.end_object();
}

std::string write_json(JsonLayout layout, const std::function<void(Archive&)>& walk) {
  JsonWriter writer(layout);
  writer.begin_object();
  walk(writer);
  writer.end_object();
  return writer.take();
}

std::optional<JsonFault> json_fault_in(std::string_view text) {
  if (nesting_depth(text) > deepest_json) return std::nullopt;
  try {
    static_cast<void>(!Json::parse(text).is_null());
    return std::nullopt;
  } catch (const Json::parse_error& error) {
    return JsonFault{error.byte};
  } catch (const Json::exception&) {
    return JsonFault{};
  } catch (const std::exception&) {  // memory ran out
    return std::nullopt;
  }
}

Result<void> read_json(std::string_view text, const std::function<void(Archive&)>& walk,
                       WrongValues wrong) {
  try {
    const auto root = parse_json(text);
    if (!root) return std::unexpected(root.error());
    JsonReader reader(*root, wrong);
    reader.begin_object();
    walk(reader);
    if (reader.is_good()) return {};
    return fail(ErrorCode::invalid, reader.first_mistake());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::io, out_of_memory());
  } catch (const std::exception& error) {
    return fail(ErrorCode::invalid, "not valid JSON: {}", error.what());
  }
}

}  // namespace berth
