#include "base/sentence.h"

#include <fmt/args.h>

#include "base/result.h"
#include "base/tr.h"

namespace berth {

namespace {

std::string filled(std::string_view text, std::string_view english,
                   const std::vector<std::string>& values) {
  if (values.empty()) return std::string(text);
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& value : values) store.push_back(value);
  return detail::format_as(text, english, store);
}

}  // namespace

std::vector<std::string> Sentence::values(std::string (Sentence::*said)() const) const {
  std::vector<std::string> values = values_;
  for (std::size_t i = 0; i < inner_.size(); ++i) values[places_[i]] = (inner_[i].*said)();
  return values;
}

std::string Sentence::english() const { return filled(key_, key_, values(&Sentence::english)); }

std::string Sentence::shown() const {
  // One that was composed before it came here (what health finds, a failed call's message) has its
  // values in the key.
  if (values_.empty()) return tr_composed(key_);
  return filled(tr(key_), key_, values(&Sentence::shown));
}

// Here, so that who only passes errors on is linked without the catalogue.
std::string Error::shown() const { return Sentence(message_, {}).shown(); }

}  // namespace berth
