#pragma once
// Puts text from outside into HTML and Markdown so that it stays text.

#include <string>
#include <string_view>

namespace berth {

/// For HTML and SVG, between tags and inside of double quotes. Control characters, bidi overrides
/// and broken UTF-8 are shown as \xNN, markup as itself.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// For one line of Markdown, in a cell of a table too.
[[nodiscard]] std::string markdown_escaped(std::string_view text);

/// `<name attributes>text</name>`; the text is escaped, the attributes are our own.
[[nodiscard]] std::string element(std::string_view name, std::string_view text,
                                  std::string_view attributes = "");

}  // namespace berth
