#include "app/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

namespace {

CLI::Option* placed(CLI::Option* option, const std::string& group) {
  if (!group.empty()) option->group(group);
  return option;
}

/// An option with a value, just added under the group of the moment.
template <class Target>
CLI::Option* added(CLI::App& app, const char* names, Target& into, std::string_view what,
                   const char* form, const std::string& group) {
  return placed(app.add_option(names, into, std::string(tr(what))), group)->type_name(form);
}

std::string mistake_of_nothing(const std::string& value) {
  return value.empty() ? std::string(tr("its value is empty")) : std::string();
}

}  // namespace

void Options::begin_group(std::string_view heading) { group_ = tr(heading); }

void Options::flag(const char* names, bool& into, std::string_view what) {
  placed(app_.add_flag(names, into, std::string(tr(what))), group_);
}

void Options::flag(const char* names, std::string& into, std::string_view what) {
  placed(app_.add_flag(names, into, std::string(tr(what))), group_);
}

void Options::value(const char* names, std::string& into, std::string_view what, const char* form) {
  added(app_, names, into, what, form, group_);
}

void Options::hidden_value(const char* names, std::string& into) {
  app_.add_option(names, into)->group("");
}

void Options::hidden_flag(const char* names, bool& into) { app_.add_flag(names, into)->group(""); }

void Options::filled_value(const char* names, std::string& into, std::string_view what,
                           const char* form) {
  added(app_, names, into, what, form, group_)->check(mistake_of_nothing);
}

void Options::repeated(const char* names, std::vector<std::string>& into, std::string_view what,
                       const char* form) {
  added(app_, names, into, what, form, group_)->allow_extra_args(false)->check(mistake_of_nothing);
}

void Options::number(const char* names, int& into, std::string_view what, const char* form,
                     int least, int most) {
  added(app_, names, into, what, form, group_)->check([least, most](const std::string& value) {
    const auto number = parse_signed(value);
    if (number && *number >= least && *number <= most) return std::string();
    return with_typographic_hint(
               sentence("\"{}\" is not a number from {} to {}", printable(value), least, most),
               value)
        .shown();
  });
}

void Options::choice(const char* names, std::string& into, std::string_view what, const char* form,
                     std::initializer_list<std::string> choices) {
  added(app_, names, into, what, form, group_)
      ->check([all = std::vector(choices)](const std::string& value) {
        if (std::ranges::find(all, value) != all.end()) return std::string();
        return trf("\"{}\" is none of {}", printable(value), joined(all, ", "));
      });
}

void Options::word(const char* name, std::string& into, std::string_view what) {
  added(app_, name, into, what, "", group_)->check(mistake_of_nothing);
}

void Options::words(const char* name, std::vector<std::string>& into, std::string_view what) {
  added(app_, name, into, what, "", group_);
}

void Options::required_word(const char* name, std::string& into, std::string_view what,
                            const char* form) {
  added(app_, name, into, what, form, group_)->required();
}

void Options::required_words(const char* name, std::vector<std::string>& into,
                             std::string_view what) {
  added(app_, name, into, what, "", group_)->required();
}

}  // namespace berth
