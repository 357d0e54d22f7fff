#include "base/sentence.h"

#include "base/archive.h"

namespace berth {

Sentence Sentence::as_is(std::string text) {
  Sentence value;
  value.text_ = std::move(text);
  value.is_as_it_is_ = true;
  return value;
}

std::string Sentence::english() const {
  if (values_.empty()) return text_;
  // By hand: a program that only passes errors on needs neither fmt's parser nor the catalogue.
  std::string said;
  auto value = values_.begin();
  for (std::size_t i = 0; i < text_.size(); ++i) {
    said += text_[i];
    if (text_[i] != '{' && text_[i] != '}') continue;
    ++i;  // a doubled brace stands for one
    if (text_.compare(i - 1, 2, "{}") != 0) continue;
    said.pop_back();
    if (value != values_.end()) said += (value++)->english();
  }
  return said;
}

Sentence Sentence::within(std::string_view before, Sentence after) && {
  std::string words;
  for (const char one : text_) {
    // A text without values has its braces as they are, one with values has its own doubled.
    if (values_.empty() && (one == '{' || one == '}')) words += one;
    words += one;
  }
  text_ = std::string(before) + words + ": {}";
  values_.push_back(std::move(after));
  return std::move(*this);
}

void Sentence::put_at(Archive& archive, Sentence& said, int depth) {
  // What is nested deeper goes as its English.
  const bool is_leaf = depth == 0 || archive.is_text();
  std::string text = is_leaf ? said.english() : said.text_;
  archive.scalar(text);
  if (archive.is_reading()) said = Sentence(text);
  if (archive.is_text()) return;
  archive.scalar(said.is_as_it_is_);
  if (is_leaf) return;
  constexpr std::size_t most = 32;
  put_list(archive, said.values_, most, [&](Sentence& one) { put_at(archive, one, depth - 1); });
}

void put(Archive& archive, Sentence& said) {
  constexpr int most_nested = 3;
  Sentence::put_at(archive, said, most_nested);
}

}  // namespace berth
