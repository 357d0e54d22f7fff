#include "app/options.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/tr.h"

namespace berth {

namespace {

/// An option just added, under the group of the moment.
CLI::Option* placed(CLI::Option* option, const std::string& group) {
  if (!group.empty()) option->group(group);
  return option;
}

}  // namespace

void Options::begin_group(std::string_view heading) { group_ = tr(heading); }

void Options::flag(const char* names, bool& into, std::string_view what) {
  placed(app_.add_flag(names, into, std::string(tr(what))), group_);
}

void Options::value(const char* names, std::string& into, std::string_view what, const char* form) {
  placed(app_.add_option(names, into, std::string(tr(what))), group_)->type_name(form);
}

void Options::filled_value(const char* names, std::string& into, std::string_view what,
                           const char* form) {
  placed(app_.add_option(names, into, std::string(tr(what))), group_)
      ->type_name(form)
      ->check([](const std::string& value) {
        return value.empty() ? std::string(tr("its value is empty")) : std::string();
      });
}

void Options::number(const char* names, int& into, std::string_view what, const char* form,
                     int least, int most) {
  placed(app_.add_option(names, into, std::string(tr(what))), group_)
      ->type_name(form)
      ->check([least, most](const std::string& value) {
        const auto number = parse_signed(value);
        return number && *number >= least && *number <= most
                   ? std::string()
                   : trf("\"{}\" is not a number from {} to {}", value, least, most);
      });
}

void Options::choice(const char* names, std::string& into, std::string_view what, const char* form,
                     std::initializer_list<std::string> choices) {
  placed(app_.add_option(names, into, std::string(tr(what))), group_)
      ->type_name(form)
      ->check(CLI::IsMember(choices));
}

void Options::word(const char* name, std::string& into, std::string_view what) {
  placed(app_.add_option(name, into, std::string(tr(what))), group_)->type_name("");
}

void Options::required_word(const char* name, std::string& into, std::string_view what,
                            const char* form) {
  placed(app_.add_option(name, into, std::string(tr(what))), group_)->required()->type_name(form);
}

void Options::required_words(const char* name, std::vector<std::string>& into,
                             std::string_view what) {
  placed(app_.add_option(name, into, std::string(tr(what))), group_)->type_name("")->required();
}

}  // namespace berth
