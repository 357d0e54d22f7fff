#pragma once
// How a verb's --help looks: options on the left, what they do on the right, 80 columns wide in
// every language.

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace berth {

/// `takes_command`: a command line follows the options ("berth run").
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_help_format(bool takes_command);

}  // namespace berth
