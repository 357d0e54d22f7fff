#include "view/report/markup.h"

#include <fmt/format.h>

#include "base/text.h"

namespace berth {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char one : printable(text)) {
    switch (one) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += one;
    }
  }
  return escaped;
}

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view special = "\\`*_[]#|~$";
  std::string escaped;
  for (const char one : printable(text)) {
    if (one == '&') {
      escaped += "&amp;";
    } else if (one == '<') {
      escaped += "&lt;";
    } else if (one == '>') {
      escaped += "&gt;";
    } else {
      if (special.find(one) != special.npos) escaped += '\\';
      escaped += one;
    }
  }
  return escaped;
}

std::string element(std::string_view name, std::string_view text, std::string_view attributes) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>", name, attributes.empty() ? "" : " ", attributes,
                     html_escaped(text));
}

}  // namespace berth
