#include "app/help_format.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"

namespace berth {

namespace {

class HelpFormat final : public CLI::Formatter {
 public:
  explicit HelpFormat(bool takes_command) : takes_command_(takes_command) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    constexpr int what_it_does = 30;
    const Style style{.width = 80};
    std::string left = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const int taken = display_width(left);
    const std::string text = make_option_desc(option);
    if (taken + 1 < what_it_does) {
      left.append(static_cast<std::size_t>(what_it_does - taken), ' ');
      return wrapped(left, text, what_it_does, style);
    }
    return left + "\n" + wrapped(std::string(what_it_does, ' '), text, what_it_does, style);
  }

  std::string make_footer(const CLI::App* app) const override {
    if (app->get_footer().empty()) return "";
    return "\n" + wrapped("", app->get_footer(), 2, {.width = 80});
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::size_t end = usage.find('\n');
    if (takes_command_ && end != std::string::npos) {
      usage.insert(end, " -- " + std::string(tr("COMMAND")) + " ...");
    }
    return usage;
  }

 private:
  bool takes_command_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_help_format(bool takes_command) {
  return std::make_shared<HelpFormat>(takes_command);
}

}  // namespace berth
